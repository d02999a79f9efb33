"""The paper's two experiments: plan, networks, maps, and tables."""
