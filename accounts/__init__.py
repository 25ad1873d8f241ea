"""People: sign-in, tiers and API keys."""
