//! Messages and mail.

use crate::secrets::{Find, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "slack-token",
        keywords: &["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        find: Find::At(0),
        pattern: r"xox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9%/+=-]{10,}",
        samples: &[
            concat!("xo", "xb-770574341503-4163691322132-lAqZ6CTYrq2Wn96defRAGgyD"),
            concat!("xo", "xp-488836254878-771628177246-4169465624782-118f70a3309b1176f73325e", "63d1c54b6"),
            concat!(
                "xo",
                "xe.xo",
                "xp-1-daEgwf3K0NL48WNgBbm7DpS5fFULQ8QzUNvhAPMxTONrlSEigAzCMkSCZB19B",
                "gcljvgTOeAgj8ignlpGCoDTGNobywPyYZtliVNrpWjhVekU8MykGLlLkpZXSWF9iG0",
                "Yz3gd9UsZffcP8NzhFgnyU2SCgPveNEB3zGqu"
            ),
            concat!(
                "xo",
                "xe-1-Rxl8ilujZpPzoWYOHPCADnBgVQ606b4A5WF8Ph6A7lqLS72a6if1W7GfKvUoV",
                "zbIjpOxksOR5jNFsfxtlnX7zAeAp9s2l0uhfM6Rp6HoYulxTZ8ccj4xd63Z0m7QJ10",
                "WRCJwtZvawGDPwW67DH"
            ),
            concat!("xo", "xs-649625233433-299603076569-246341073851-6ecc6a5ed9"),
            concat!(
                "xo",
                "xd-yrygO8QFixMeUGUbpTlAoFYhwBDHZ6JRENmSWiL4%2BLN38u9Pbt5iLxNzAin7Z",
                "ese1FkJL8MywFVqjFxEY%3D"
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "slack-token",
        keywords: &["xapp-", "xwfp-"],
        find: Find::At(20),
        pattern: r"(?:xapp|xwfp)-[A-Za-z0-9-]{20,}",
        samples: &[concat!(
            "xa",
            "pp-1-AKOGNPVP3SN-4396521013169-13c984d522b8e6e40a1a4488d9fc2b3ed43",
            "8648c0f611d6a99976e6c29fd0cbf"
        )],
        secrets: &[],
    },
    Rule {
        kind: "slack-webhook",
        keywords: &["hooks.slack.com/"],
        find: Find::At(0),
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,})",
        samples: &[concat!(
            "ht",
            "tps:",
            "//hooks.s",
            "lack.com/services/TGBFCUXU74Q/BS45VUR6HT6/",
            "jhpIBVhqyqlm5yuxGTz7wXv6"
        )],
        secrets: &[concat!("TG", "BFCUXU74Q/BS45VUR6HT6/jhpIBVhqyqlm5yuxGTz7wXv6")],
    },
    Rule {
        kind: "discord-webhook",
        keywords: &["/api/webhooks/"],
        find: Find::At(0),
        pattern: r"/api/webhooks/[0-9]{16,20}/(?P<secret>[A-Za-z0-9_-]{40,})",
        samples: &[concat!(
            "ht",
            "tps:",
            "//discord.com/api/webh",
            "ooks/6942857975180107774/sEMoriYFrUuNfrfAb6K4lfNMHNB-6scIAT",
            "yLeYxiZWwJzpTSsgoDT-ckJoqks0n4Gh_q"
        )],
        secrets: &[concat!("sE", "MoriYFrUuNfrfAb6K4lfNMHNB-6scIATyLeYxiZWwJzpTSsgoDT-ckJoqks0n4Gh_q")],
    },
    Rule {
        kind: "discord-token",
        keywords: &["discord", "Bot M", "Bot N", "Bot O"],
        find: Find::Text,
        pattern: r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        samples: &[concat!(
            "di",
            "scord login MTtkVGmVNNEBXHzqgg08XqdIoA.G904vO.NM",
            "-0bNfKNebwYMKntj1k6WBN1q74cjRfhdZD05"
        )],
        secrets: &[concat!(
            "MT",
            "tkVGmVNNEBXHzqgg08XqdIoA.G904vO.NM-0bNfKNebwYMKntj1k6WBN1q74cjRfhd",
            "ZD05"
        )],
    },
    Rule {
        kind: "telegram-token",
        keywords: &[":AA"],
        find: Find::Behind(8),
        pattern: r"[0-9]{8}:(?P<secret>AA[A-Za-z0-9_-]{32,34})",
        samples: &[concat!("14", "05265036:AAlt9SwL5c7J6-8jn", "QUku8Rbnm2HJVYyqvA")],
        secrets: &[concat!("AA", "lt9SwL5c7J6-8jnQUku8Rbnm2HJVYyqvA")],
    },
    Rule {
        kind: "teams-webhook",
        keywords: &["webhook.office.com/webhookb2/"],
        find: Find::At(0),
        pattern: r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/_-]{40,})",
        samples: &[concat!(
            "ht",
            "tps:",
            "//acme.webhook.office.com/webh",
            "ookb2/612338d5-87a9-0dd0-67b0-c6a42210bff5@a77d3728-71b5-28e4-0ec0",
            "-aad855df1c89/Incom",
            "ingWebhook/b0929da28b753dd3e4d2ad88909d7062/7014fa30-cf52-5731-1b2",
            "a-6d23a0619796"
        )],
        secrets: &[concat!(
            "61",
            "2338d5-87a9-0dd0-67b0-c6a42210bff5@a77d3728-71b5-28e4-0ec0-aad855d",
            "f1c89/IncomingWebhook/b0929da28b753dd3e4d2ad88909d7062/7014fa30-cf",
            "52-5731-1b2a-6d23a0619796"
        )],
    },
    Rule {
        kind: "zapier-webhook",
        keywords: &["hooks.zapier.com/hooks/catch/"],
        find: Find::At(0),
        pattern: r"hooks\.zapier\.com/hooks/catch/(?P<secret>[A-Za-z0-9/]{8,})",
        samples: &[concat!("ht", "tps:", "//hooks.zapier.com/hooks", "/catch/3432533", "/90teaj5/")],
        secrets: &[concat!("34", "32533/90teaj5")],
    },
    Rule {
        kind: "twilio-key",
        keywords: &[
            "SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd",
            "SKe", "SKf",
        ],
        find: Find::At(31),
        pattern: r"SK[0-9a-f]{32}\b",
        samples: &[concat!("SK", "3f2d7da48a867a6ee2a65eadf8aa184a")],
        secrets: &[],
    },
    Rule {
        kind: "twilio-token",
        keywords: &["twilio"],
        find: Find::Value,
        pattern: r"[0-9a-f]{32}",
        samples: &[concat!("tw", "ilio_auth: \"00b18662a1ecf914", "05428241595321e3\"")],
        secrets: &[concat!("00", "b18662a1ecf91405428241595321e3")],
    },
    Rule {
        kind: "sendgrid-key",
        keywords: &["SG."],
        find: Find::Dotted(22, 22),
        pattern: r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{30,}",
        samples: &[concat!("SG", ".5XbcgUEk9q4Gi5b4GYo7lu.uRG0yXmoroRLCKsd9XWG0QK8H5mzhmYsjqatZaQu9y", "b")],
        secrets: &[],
    },
    Rule {
        kind: "mailgun-key",
        keywords: &["key-"],
        find: Find::At(32),
        pattern: r"key-[0-9a-f]{32}\b",
        samples: &[concat!("k", "ey-c5590e01afc51414d7182a5fa63750f8")],
        secrets: &[],
    },
    Rule {
        kind: "mailgun-key",
        keywords: &["mailgun"],
        find: Find::Value,
        pattern: r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}",
        samples: &[concat!("ma", "ilgun: 084cbdd9c00965cf1afc936e4", "88e6a46-993175e6-9630bed6")],
        secrets: &[concat!("08", "4cbdd9c00965cf1afc936e488e6a46-993175e6-9630bed6")],
    },
    Rule {
        kind: "mailchimp-key",
        keywords: &["-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"],
        find: Find::Behind(32),
        pattern: r"[0-9a-f]{32}-us[0-9]{1,2}\b",
        samples: &[concat!("4b", "78b44e9f75f38135403824aa30539a-us12")],
        secrets: &[],
    },
    Rule {
        kind: "brevo-key",
        keywords: &["xkeysib-", "xsmtpsib-"],
        find: Find::At(64),
        pattern: r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
        samples: &[concat!(
            "xk",
            "eysib-f1d1f5e7af197e39969a79ed1fb664e0e664792dc3667153fb0a61a46dfb",
            "5aba-K2VVNhBoeNonNXSa"
        )],
        secrets: &[],
    },
    Rule {
        kind: "resend-key",
        keywords: &["re_"],
        find: Find::At(28),
        pattern: r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,24}\b",
        samples: &[concat!("re", "_9LanBncS_WifYcSitLOM1FnyGrZ9XmERe")],
        secrets: &[],
    },
    // The token begins with the bot's id in base64.
    Rule {
        kind: "discord-token",
        keywords: &["MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk"],
        find: Find::Dotted(20, 26),
        pattern: r"MT[A-Za-z0-9_-]{21,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        samples: &[
            concat!("MT", "Afm5cZdOpy0xELB7MS61oa.CP7tIb.aMf9gpvwMAntsBs1BJjkkf7zfXH"),
            concat!("MT", "kyh1LBxz82zqbExnWlhbBJwB.wcCVdo.jY9nGS4fO2j5rPJcWDSwajhHdN0T", "TgGOpjaj8v"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "x-bearer-token",
        keywords: &["AAAAAAAAAAAAAAAAAAA"],
        find: Find::Encoded(60),
        pattern: r"A{18,}[A-Za-z0-9]{3,20}A{4,}[A-Za-z0-9]{3,30}(?:%2B|%2F|%3D|[+/=]|[A-Za-z0-9])*[A-Za-z0-9]{40,}",
        samples: &[concat!(
            "AA",
            "AAAAAAAAAAAAAAAAAAATlYt8tAAAAAAAPUonVz%2BBrrUihsB5tDt5tMCUrl",
            "qj1%3DiwR7Bk61J33NN1vETDx12wuaT9QmsRvkicfBY8tfNAhkBnhxJg"
        )],
        secrets: &[],
    },
];
