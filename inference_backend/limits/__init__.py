"""What one account may ask for: requests and tokens per minute, and requests at a time."""
