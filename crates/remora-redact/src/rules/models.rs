//! Providers of models and what belongs to them.

use crate::secrets::{Find, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "anthropic-key",
        keywords: &["sk-ant-"],
        find: Find::At(24),
        pattern: r"sk-ant-[A-Za-z0-9_-]{24,}",
        samples: &[
            concat!(
                "sk",
                "-ant-api03-pzXBDUW7qfQxu_oibVMYJuaMZMXpBlsvn2xxyKCoGCtHcihZkTK9Chu",
                "hDuspet0jMsc5Eo868Q-MnKMxe5URkUyKuY0neAA"
            ),
            concat!(
                "sk",
                "-ant-oat01-8H8kHSrM_4tNenTEyfKnpXX4XoDzpkLH4GHc17CeHnUjg-ex3N3ztYn",
                "wRcxJOUblRXBpDQlQqLVMksGu3wW1bkggQ82dFAA"
            ),
            concat!(
                "sk",
                "-ant-admin01-Yyl83fvN4_LCdgUnW21ouIj5V1sOeguv4NxnGhz2RkpehhIrSFq88",
                "PxuH4UYVdqUY98Flm5qShySeGyiuRyrchk8KPr1tAA"
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "openrouter-key",
        keywords: &["sk-or-v1-"],
        find: Find::At(40),
        pattern: r"sk-or-v1-[0-9a-f]{40,}",
        samples: &[concat!(
            "sk",
            "-or-v1-20a9d989c1fdfd797e64e50e1b7a535c3c1908b7aa4f0166d54fcba6c69",
            "8dac8"
        )],
        secrets: &[],
    },
    Rule {
        kind: "langfuse-key",
        keywords: &["sk-lf-"],
        find: Find::At(36),
        pattern: r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        samples: &[concat!("sk", "-lf-2dd8a660-b25b-d465-3f54-dd0182173cb2")],
        secrets: &[],
    },
    Rule {
        kind: "openai-key",
        keywords: &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-service-"],
        find: Find::At(20),
        pattern: r"sk-(?:proj|svcacct|admin|service)-[A-Za-z0-9_-]{20,}",
        samples: &[
            concat!(
                "sk",
                "-proj-xmGEB13CKze1yh6U7ZjKUH0AR72TO5qQkL_wELsTBZsGCYwV4ndnUkxiIeYR",
                "ZhtA6XooFJWYcdT3Bl",
                "bkFJPZCgoz-2zFBjg2SFZR5x1mzuDc0baQyjbqXELTab5JqmLn5qJ7aJn257TEbZ6q",
                "LqvT6Cx2cBOL"
            ),
            concat!(
                "sk",
                "-svcacct-62TeP75JGAcGv1ILm7XfRfwTbAD1K9mlDtiM2z0KTWdIWGuQzXx06zWTw",
                "wANd7C9ksAnQE_3i8T3Bl",
                "bkFJMkR4AIUAhejk5WKU3seVrsQDPTnYNgGnOK2z1V7G96Sys24HhdYQkYZx6atQ9H",
                "Z663dtb1tN58"
            ),
            concat!(
                "sk",
                "-admin-d1x9tcq7Me7hzAwkAa9_a_sqE61jk8f8Ylg6iMe6g5d0QoBZuyE4vOqjvCT",
                "3Bl",
                "bkFJUWEohu-B9tURVXOOz6XeAnIAoWjbu1BvIs1-KU9eqH_od26Z-ZXFgVOx-F"
            ),
        ],
        secrets: &[],
    },
    // DeepSeek, Moonshot, Stability and many proxies use the same prefix.
    Rule {
        kind: "openai-key",
        keywords: &["sk-"],
        find: Find::At(32),
        pattern: r"sk-[A-Za-z0-9]{32,}",
        samples: &[
            concat!("sk", "-Z5fCSFlbwj0NS3ol7uJGT3Bl", "bkFJ3FNU1GWOv2lGpPIUWER8"),
            concat!("sk", "-e1b8cd63cfa4bfac3b52d6ca0d3044c2"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "openai-session",
        keywords: &["sess-"],
        find: Find::At(40),
        pattern: r"sess-[A-Za-z0-9]{40}\b",
        samples: &[concat!("se", "ss-HEzWXB7lf6ZukP7rsGKRRvo16LZHMmOhQCz3brkc")],
        secrets: &[],
    },
    Rule {
        kind: "huggingface-token",
        keywords: &["hf_", "api_org_"],
        find: Find::At(30),
        pattern: r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
        samples: &[
            concat!("hf", "_FiHMriKpQswbEQCizzTFUdDOakgsNOnQbU"),
            concat!("ap", "i_org_ZcHYajBXTMpvNBEitoRfwbzXnJLBOFdKjb"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "replicate-token",
        keywords: &["r8_"],
        find: Find::At(37),
        pattern: r"r8_[A-Za-z0-9_-]{37}",
        samples: &[concat!("r8", "_h1jlC06ukpsme96vzssDCUD44ooN7zmxKVy2T")],
        secrets: &[],
    },
    Rule {
        kind: "groq-key",
        keywords: &["gsk_"],
        find: Find::At(40),
        pattern: r"gsk_[A-Za-z0-9]{40,}",
        samples: &[concat!("gs", "k_mVB1NsE2jfte7PgX1Gu5mn3YY19Qdhapzpi9fhKnMgMqxjpQGfwj")],
        secrets: &[],
    },
    Rule {
        kind: "perplexity-key",
        keywords: &["pplx-"],
        find: Find::At(40),
        pattern: r"pplx-[A-Za-z0-9]{40,}",
        samples: &[concat!("pp", "lx-1M9NpEsReryFC3uO2RrykuXKU2QHa959EElaYN56ip2yc8fZ")],
        secrets: &[],
    },
    Rule {
        kind: "xai-key",
        keywords: &["xai-"],
        find: Find::At(60),
        pattern: r"xai-[A-Za-z0-9_]{60,}",
        samples: &[concat!(
            "xa",
            "i-XcQWMpQQ5hN8eyeDaS3DuCAR8Gs5w7i9kU4tVJYIzMS38QRupr6nv0tVDzgAlcsQ",
            "9CAZp9O5x5p4PiAp"
        )],
        secrets: &[],
    },
    Rule {
        kind: "voyage-key",
        keywords: &["pa-"],
        find: Find::At(43),
        pattern: r"pa-[A-Za-z0-9_-]{43}\b",
        samples: &[concat!("pa", "-BcyDeiAHuiuoScgi6XuexXSiM0aAGvuo2Zrtx8WZ0ql")],
        secrets: &[],
    },
    Rule {
        kind: "cohere-key",
        keywords: &["cohere", "CO_API"],
        find: Find::Value,
        pattern: r"[A-Za-z0-9]{40}",
        samples: &[concat!("co", "here: \"NhJOGRru5TeyatQXpz4n", "N4ekrBU0fDhETU5NtfWY\"")],
        secrets: &[concat!("Nh", "JOGRru5TeyatQXpz4nN4ekrBU0fDhETU5NtfWY")],
    },
    Rule {
        kind: "mistral-key",
        keywords: &["mistral"],
        find: Find::Value,
        pattern: r"[A-Za-z0-9]{32}",
        samples: &[concat!("mi", "stral = \"Qzf4EKcesve9tfr4", "OVRV4r5rK6anLjKk\"")],
        secrets: &[concat!("Qz", "f4EKcesve9tfr4OVRV4r5rK6anLjKk")],
    },
    Rule {
        kind: "together-key",
        keywords: &["tgp_v1_"],
        find: Find::At(30),
        pattern: r"tgp_v1_[A-Za-z0-9_-]{30,}",
        samples: &[concat!("tg", "p_v1_pfrQWwPOmqp3X1RQQLXVF19JUTCs-YRgWyuL5kkw23n")],
        secrets: &[],
    },
    Rule {
        kind: "fireworks-key",
        keywords: &["fw_"],
        find: Find::At(22),
        pattern: r"fw_[A-Za-z0-9]{22,24}\b",
        samples: &[concat!("fw", "_CDhsqNyzBdHPi3buZ6oDt6UX")],
        secrets: &[],
    },
    Rule {
        kind: "cerebras-key",
        keywords: &["csk-"],
        find: Find::At(40),
        pattern: r"csk-[a-z0-9]{40,}",
        samples: &[concat!("cs", "k-f1e62835a5ena1b6b1ncpp5054nbrgoqjz3k03iyguof0gqv")],
        secrets: &[],
    },
    Rule {
        kind: "nvidia-key",
        keywords: &["nvapi-"],
        find: Find::At(60),
        pattern: r"nvapi-[A-Za-z0-9_-]{60,}",
        samples: &[concat!("nv", "api-MgcabvOBozrleAdOTjPHgAYaCfT-wexComglTGxRJmgthGI52FO46JHP8errFh", "CR")],
        secrets: &[],
    },
    Rule {
        kind: "elevenlabs-key",
        keywords: &["sk_"],
        find: Find::At(48),
        pattern: r"sk_[0-9a-f]{48}\b",
        samples: &[concat!("sk", "_2213cc571434011e107303672aaab61abf2469eb807e8ead")],
        secrets: &[],
    },
    Rule {
        kind: "pinecone-key",
        keywords: &["pcsk_"],
        find: Find::At(40),
        pattern: r"pcsk_[A-Za-z0-9_]{40,}",
        samples: &[concat!(
            "pc",
            "sk_kf3HIl_BZYiSm2bxsF5bcc1mrZsDDyFw5hQIb48pV5xKNsxsdkkzY461I5fuZWV",
            "dNPr35"
        )],
        secrets: &[],
    },
    Rule {
        kind: "wandb-key",
        keywords: &["wandb"],
        find: Find::Value,
        pattern: r"[0-9a-f]{40}",
        samples: &[concat!("wa", "ndb: ed41f0a5ed1625ff119b", "9aa4bd5346b74c8a1328")],
        secrets: &[concat!("ed", "41f0a5ed1625ff119b9aa4bd5346b74c8a1328")],
    },
    Rule {
        kind: "tavily-key",
        keywords: &["tvly-"],
        find: Find::At(24),
        pattern: r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}",
        samples: &[concat!("tv", "ly-dev-LYMYfnPLTscDLnEUTT3zpyzydGoM4mAG")],
        secrets: &[],
    },
    Rule {
        kind: "firecrawl-key",
        keywords: &["fc-"],
        find: Find::At(32),
        pattern: r"fc-[0-9a-f]{32}\b",
        samples: &[concat!("fc", "-37a357aa26a1c0a0d68c911c0312486b")],
        secrets: &[],
    },
    Rule {
        kind: "jina-key",
        keywords: &["jina_"],
        find: Find::At(50),
        pattern: r"jina_[A-Za-z0-9_-]{50,}",
        samples: &[concat!("ji", "na_S9O7VcTAgocRnoO1DCGfyIE596BDtlR71tXr7i1YPTRU0No7La00ZWsxm210")],
        secrets: &[],
    },
    Rule {
        kind: "cursor-key",
        keywords: &["key_", "crsr_"],
        find: Find::At(64),
        pattern: r"(?:key|crsr)_[0-9a-f]{64}",
        samples: &[concat!("k", "ey_5beefca06a748453590ea392559913ac4f2e927f7f0fdf3815fbc50986593ed", "5")],
        secrets: &[],
    },
    Rule {
        kind: "e2b-key",
        keywords: &["e2b_"],
        find: Find::At(40),
        pattern: r"e2b_[0-9a-f]{40}",
        samples: &[concat!("e2", "b_5b8e5735c4080dd5ac2ddadf3045bece97c9885d")],
        secrets: &[],
    },
    Rule {
        kind: "langsmith-key",
        keywords: &["lsv2_pt_", "lsv2_sk_"],
        find: Find::At(40),
        pattern: r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
        samples: &[concat!("ls", "v2_pt_87e0d70aa52ca7e048c116320357280f_3c59de9edf")],
        secrets: &[],
    },
];
