"""Overlays and figures in words for somebody who has read no paper."""

OVERLAYS = {
    "chord": "fingers at powers of two (Chord)",
    "random": "random links",
    "grswico": "a ring in random order, with links designed from interests (GrSwico)",
    "swico-s": "a ring designed from interests (SwicoS)",
    "swico-l": "long links designed from interests (SwicoL)",
    "swico-sl": "links designed from interests (SwicoSL)",
    "swico-even": "links designed from interests, few to each broker (SwicoEven)",
    "gm": "the fewest links that connect every topic (GM)",
    "dc": "links that connect every topic, designed in parts (DC)",
    "dcbc": "links that connect every topic, designed in parts with a bulk (DCBC)",
    "ring-per-topic": "a ring of links for each topic",
    "star": "a hub that all brokers are linked to",
    "tree": "a tree of bridged brokers",
}

# What a figure means, where its name is a term of the field.
TERMS = {
    "tco_support_ratio": "TcoSuppR: how much of all topic-connectivity the links give; 1: every topic's subscribers "
    "reach each other without other brokers",
    "tccs": "parts into which the subscribers of all topics fall",
    "routing_overhead": "messages to relays: brokers that pass on what they do not subscribe to",
    "average_path": "hops from the issuer to a subscriber",
    "degree": "links of a broker, whoever opened them",
    "out_degree": "links that a broker opened",
    "in_degree": "links that others opened to it",
    "topic_diameter": "hops between the two subscribers of a topic that are farthest apart",
}
