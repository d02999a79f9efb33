"""What a file costs on this device."""
