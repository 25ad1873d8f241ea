"""The REST calls on prompts, versions, branches and labels. Parse, call, answer."""
