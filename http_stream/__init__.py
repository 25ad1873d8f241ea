"""HTTP towards a server that streams its answers: bytes as they come, at little cost for each piece."""
