"""Names of topics, and filters: those of `weft.model.topic`, which files of subscriptions have as well."""

from weft.model.topic import SHARE, is_filter, is_name, is_shared, is_wild, matches, split_shared

__all__ = ["SHARE", "is_filter", "is_name", "is_shared", "is_wild", "matches", "split_shared"]
