"""Code that the servers of this package share: certificates, and the addresses of this machine."""
