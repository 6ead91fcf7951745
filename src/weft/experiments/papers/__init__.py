"""The papers: a module each, which exports `EXPERIMENTS`, beside a toml of what the paper states of them."""
