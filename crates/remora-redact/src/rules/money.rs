//! Payments and shops.

use crate::secrets::{Find, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "stripe-key",
        keywords: &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"],
        find: Find::At(10),
        pattern: r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
        samples: &[
            concat!(
                "sk",
                "_live_dtyLcZat8r6tVqAQmiZ0STVnkoT8mChpHMa8Blo7HiL0hBNO20rL7tMULvBl",
                "43IYtYl0d9ZVqz7k3BHYc80CaVTjOrz2YgDWapg"
            ),
            concat!("rk", "_live_tqbL1QVCgwB3XrL1pv28Fvyv"),
            concat!("sk", "_test_dr2UqPIY2ZpBJjEcbst8p4q8"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "stripe-webhook-secret",
        keywords: &["whsec_"],
        find: Find::Encoded(20),
        pattern: r"whsec_[A-Za-z0-9+/_-]{20,}={0,2}",
        samples: &[concat!("wh", "sec_jrlBsCuzjslPGyVz7uyXdOH3gGlKSLb2")],
        secrets: &[],
    },
    Rule {
        kind: "square-token",
        keywords: &["sq0atp-", "sq0csp-", "sq0idp-"],
        find: Find::At(22),
        pattern: r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}",
        samples: &[
            concat!("sq", "0atp-tBYDEqUa_-OrtW88F3pfSN"),
            concat!("sq", "0csp-N4utok3AwaJs4r0OS_JuiO5VZArMeUVaQpWhLtqgxIB"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "square-token",
        keywords: &["EAAA"],
        find: Find::At(56),
        pattern: r"EAAA[A-Za-z0-9_-]{56,60}\b",
        samples: &[concat!("EA", "AAIIkXxupjQOlPNe7AHXit6nJWYjMmJGtV9NYU1xQd3LrJlcIkzDX6kRJvXR84")],
        secrets: &[],
    },
    Rule {
        kind: "facebook-token",
        keywords: &["EAAB", "EAAC", "EAAD", "EAAE", "EAAF", "EAAG", "EAAH", "EAAI", "EAAJ", "EAAM"],
        find: Find::At(100),
        pattern: r"EAA[A-Za-z0-9]{100,}",
        samples: &[concat!(
            "EA",
            "AG5ioRI725pRTZLBHPCSEee3kJRbPG1a0XaywQcxDvrgdmWTaVquFUpZUmcyQ0NHwo",
            "cTYGyABaUuByO44Pofdhcjgjxooa1aWVRem96U1Ko3lvgmSlLFCGGPeXZUVV4eDn4D",
            "udRwz2xGmkzQeUTjmDkkfD0ihZET2m"
        )],
        secrets: &[],
    },
    Rule {
        kind: "paypal-token",
        keywords: &["access_token$"],
        find: Find::At(0),
        pattern: r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}",
        samples: &[concat!(
            "ac",
            "cess_to",
            "ken$production$mtctb6udoash10uy$864e5194e1f4b0bfa960bafc047ce87e"
        )],
        secrets: &[],
    },
    Rule {
        kind: "braintree-key",
        keywords: &["braintree", "paypal"],
        find: Find::Value,
        pattern: r"(?:[0-9a-f]{32}|E[A-Za-z0-9_-]{79})",
        samples: &[
            concat!("br", "aintree = \"cf833227056d357e", "7dec73d90a28643e\""),
            concat!(
                "pa",
                "ypal_live: EVBUKPmOzUaVYzG4YzkZB-aytsl8yqhWLNj6uFU3",
                "uca-HT2H5PclpXFNQqt2a-NE1z0S7T57GGsPMgte"
            ),
        ],
        secrets: &[
            concat!("cf", "833227056d357e7dec73d90a28643e"),
            concat!(
                "EV",
                "BUKPmOzUaVYzG4YzkZB-aytsl8yqhWLNj6uFU3uca-HT2H5PclpXFNQqt2a-NE1z0S",
                "7T57GGsPMgte"
            ),
        ],
    },
    Rule {
        kind: "shopify-token",
        keywords: &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"],
        find: Find::At(32),
        pattern: r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}",
        samples: &[
            concat!("sh", "pat_820801bc5265abb351571e918edd9ce9"),
            concat!("sh", "pca_3422afbafc5b6a74fe84e65399b93cf6"),
            concat!("sh", "ppa_55285c771cd4d34595f65f0e2de91c6e"),
            concat!("sh", "pss_a45830c2811ff52847ddaafb576b0f29"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "plaid-token",
        keywords: &["access-sandbox-", "access-development-", "access-production-"],
        find: Find::At(36),
        pattern: r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        samples: &[concat!("ac", "cess-sandbox-05c550d1-b13b-162a-9f5f-dd661d38b9cb")],
        secrets: &[],
    },
    Rule {
        kind: "plaid-key",
        keywords: &["plaid"],
        find: Find::Value,
        pattern: r"[0-9a-f]{24,30}",
        samples: &[concat!("pl", "aid = \"600c2f8a76550a5", "a86f24e86927291\"")],
        secrets: &[concat!("60", "0c2f8a76550a5a86f24e86927291")],
    },
    Rule {
        kind: "coinbase-key",
        keywords: &["coinbase"],
        find: Find::Value,
        pattern: r"[A-Za-z0-9_-]{64}",
        samples: &[concat!(
            "co",
            "inbase: 36oDiexG47VKmu6iBDp3niKPKHjh7lzw",
            "8yv2AHsMtckeEytMQY2PziUQ9RaooNCD"
        )],
        secrets: &[concat!("36", "oDiexG47VKmu6iBDp3niKPKHjh7lzw8yv2AHsMtckeEytMQY2PziUQ9RaooNCD")],
    },
    Rule {
        kind: "razorpay-key",
        keywords: &["rzp_live_", "rzp_test_"],
        find: Find::At(14),
        pattern: r"rzp_(?:live|test)_[A-Za-z0-9]{14,}",
        samples: &[concat!("rz", "p_live_aJ3JIrdrqw53mB")],
        secrets: &[],
    },
    Rule {
        kind: "flutterwave-key",
        keywords: &["FLWSECK"],
        find: Find::At(12),
        pattern: r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?",
        samples: &[concat!("FL", "WSECK_TEST-b122d99b2907b0fef3bad0bc78c8ce7a-X")],
        secrets: &[],
    },
    Rule {
        kind: "adyen-key",
        keywords: &["AQE"],
        find: Find::Encoded(60),
        pattern: r#"AQE[a-z]h[A-Za-z0-9+/=]{40,}-[A-Za-z0-9+/=]{20,}-[^\s"'\\]{10,}"#,
        samples: &[concat!(
            "AQ",
            "EyhcgbMJOVG3UpN/3T9zZ/cW4LoOSjgZ8iJX0iXnCfGTZIm1CYChXuNOb8hC",
            "RbE-sj6OMpxvr10fFI5XvLGD/XOSW/N2KxB8NW6cL/0p=-ODYFRYly8cfzOY",
            "F2"
        )],
        secrets: &[],
    },
    Rule {
        kind: "paddle-key",
        keywords: &["pdl_live_", "pdl_sdbx_"],
        find: Find::At(30),
        pattern: r"pdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{30,}",
        samples: &[concat!("pd", "l_live_apikey_257a1m6npljbiv1xjtf2fmuwx7_pte89q7BZsn8vvLepDx", "7FA_HH2")],
        secrets: &[],
    },
];
