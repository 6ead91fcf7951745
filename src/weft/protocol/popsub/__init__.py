"""PopSub: content-based publish/subscribe on a broker tree, by popularity. docs/popsub.md says how it is read."""
