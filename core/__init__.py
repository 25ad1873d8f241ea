"""The leaf every app stands on: errors, effects, ids, request plumbing. Imports none of them."""
