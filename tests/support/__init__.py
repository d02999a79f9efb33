"""What several tests share: networks, oracles, servers, processes."""
