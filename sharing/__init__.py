"""Who may do what with a prompt: grants, share links, and every page a non-owner sees."""
