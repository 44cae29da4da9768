//! Formats that are not specific to a provider: keys, tokens, URLs, hashes.

use crate::secrets::{Find, Reader, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        keywords: &["PRIVATE KEY"],
        find: Find::Hand(Reader::PrivateKey),
        pattern: "",
        samples: &[
            concat!(
                "--",
                "---BEGIN RSA PRIVA",
                "TE K",
                "EY-----\nIIMl19UMR5vsPm0UTMawHzq0EMaTYFJYh/H1n4aDqSsytk+/YmjrNjvgRr",
                "5qbGHs\nJHi0zbJOkJTvSXB+aBuMw4G6OqhMxqI2IENJ+gDtanWvXfb03mGW+CH0dMX",
                "7ye0s\nNfFN4JRXYUk2oCk8KlB33MtGUNsjyTEynos38QQp==\n-----END RSA PRIV",
                "A",
                "TE K",
                "EY-----"
            ),
            concat!(
                "--",
                "---BEGIN OPENSSH PRIVA",
                "TE K",
                "EY-----\nXI/o1zn+eeXAhc5bTFiAJJS6wHcXVsSurQbARKpWiaiEUp6jpS7UsgzFYs",
                "3VTqXrMOpn8E\ndSNGuMBQ7xcjug3U+5D8yuFd5QH0w1BYWF+GabKqqo/jvu6Vcmr4R",
                "ViPEvaOmWpnVfDz4U\n-----END OPENSSH PRIVA",
                "TE K",
                "EY-----"
            ),
            concat!(
                "--",
                "---BEGIN EC PRIVA",
                "TE K",
                "EY-----\\nrwM0D3aWHSNt3dJbSA1mdd1zEqOjk6aiTVaO4S5TOV0NUeEYZ0Bg67PwL",
                "xR1++OB\\nVqr5xo6a+tH6C6cVLLH+5gjuO+Xwb1oEhFCbUPLI+ulehs84NEnCyOELA",
                "Wffold4\\n-----END EC PRIVA",
                "TE K",
                "EY-----\\n"
            ),
            concat!(
                "--",
                "---BEGIN ENCRYPTED PRIVA",
                "TE K",
                "EY-----\nProc-Type: 4,ENCRYPTED\n\nyR/04FLCuMhleOoqAgd4SWxyBUOQdLlIzv",
                "UZWuYcEm/dYdp+o2otM4FtkGMEQizD\n-----END ENCRYPTED PRIVA",
                "TE K",
                "EY-----"
            ),
            concat!(
                "--",
                "---BEGIN PGP PRIVA",
                "TE K",
                "EY BLOCK-----\nVersion: GnuPG v2\n\nbTqBfNs5TGgExG0j/ziNKquVDmNECusvQ",
                "GAzUGND1KbjlbSl3XdzQnWKkuIcZGiy\ns+ZPQypHa5PFdKJjOrrYuSVF+dgkBVk/AP",
                "Np/8PdEEpN61oaiO1QITgpe05sSEO0\n=uGlM\n-----END PGP PRIVA",
                "TE K",
                "EY BLOCK-----"
            ),
            concat!(
                "--",
                "---BEGIN PRIVA",
                "TE K",
                "EY-----\nrdT+RUzmanoNYLdZZuipQjvMpTdbd3Y6I9NcLl/IP+iwT7wocV2Pr1QQ36",
                "8PSmYv\n-----END PRIVA",
                "TE K",
                "EY-----"
            ),
            concat!(
                "--",
                "-- BEGIN SSH2 ENCRYPTED PRIVA",
                "TE K",
                "EY ----\nLFuNxd7op9zLhkThxim2rGPupKgFL3Tr/htsKTdEuiCyiKeuUghFa8X6ZU",
                "XjFeourSps9B\n---- END SSH2 ENCRYPTED PRIVA",
                "TE K",
                "EY ----"
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "putty-key",
        keywords: &["Private-Lines:"],
        find: Find::Text,
        pattern: r"Private-Lines: [0-9]+(?P<secret>(?:(?:\s|\\r|\\n|-)+[A-Za-z0-9+/=]{16,65})+)",
        samples: &[concat!(
            "Pu",
            "TTY-User-K",
            "ey-File-3: ssh-ed25519\nPrivat",
            "e-Lines: 2\nkx5ChwkAgIq4LaZREpvUZM8r0Pdo7y6jnpMuXLSEvU",
            "hspA/czL8MB4n6DzsDyCvE\nJF+aEFj54NcNYWy2RaBE\nPrivate-MAC: 60ab7ae9e",
            "df56f93a38495272ccf73adef9c94ef468e93d328176245c97ae540"
        )],
        secrets: &[concat!(
            "kx",
            "5ChwkAgIq4LaZREpvUZM8r0Pdo7y6jnpMuXLSEvUhspA/czL8MB4n6DzsDyCvE\nJF+",
            "aEFj54NcNYWy2RaBE"
        )],
    },
    Rule {
        kind: "age-key",
        keywords: &["AGE-SECRET-KEY-1"],
        find: Find::At(50),
        pattern: r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
        samples: &[concat!(
            "AG",
            "E-SEC",
            "RET-K",
            "EY-1THJZ9FCWALCFTJ06MRCCKZ3TZZSAV6SXRT0RFDNDWFVQMURVX2HYVPNSZK"
        )],
        secrets: &[],
    },
    // A private key encoded as base64 again, as in a Kubernetes configuration.
    Rule {
        kind: "private-key",
        keywords: &["LS0tLS1CRUdJTiB"],
        find: Find::Text,
        pattern: r"LS0tLS1CRUdJTiB(?:SU0EgUFJJ|QUklW|PUEVOU1NI|FQyBQUklW|FTkNSWVBU|EU0EgUFJJ|QR1AgUFJJ)[A-Za-z0-9+/]*(?:(?:\r?\n|\\r|\\n)[\s+-]*[A-Za-z0-9+/]{20,})*={0,2}",
        samples: &[concat!(
            "LS",
            "0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQp9yYToH+isyPW0LZatX1",
            "fQR1tCmGkwqVPwRpa3Co997vmGcn4j53WGJC4SolHB/+GyrJ/9iSlL5YqdAz",
            "gCYNiqCUy5NRfqnMXuvLhC/JB2vvp7cyqNgNSmfR2=="
        )],
        secrets: &[],
    },
    Rule {
        kind: "wallet-key",
        keywords: &["xprv", "yprv", "zprv", "tprv"],
        find: Find::At(100),
        pattern: r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}",
        samples: &[concat!(
            "xp",
            "rvKaMKv9a9Ck6WdxktJn1zFSWvz2GJv5JozdNG8ejQs5HEASYKAw7egSsvNy",
            "v56b5MCJME9WTozYsiaCbumpveANbCwbyo1cYNmqsnkeWKXyD"
        )],
        secrets: &[],
    },
    Rule {
        kind: "wallet-key",
        keywords: &["privkey", "bitcoin", "_wif", "wif:", "wif=", "wif "],
        find: Find::Text,
        pattern: r"\b(?:5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51})\b",
        samples: &[
            concat!("im", "portprivkey 5J9VC5ueDGPSiUTpiVCQAbN6RVVU57EbGxpp93QfF4AD4eGo", "Vaa"),
            concat!("wi", "f: L2G4TMhjvXRqeoZU7t4T5i6bu2LZfDYwws2MyEKesc4B8kntvuAX"),
        ],
        secrets: &[
            concat!("5J", "9VC5ueDGPSiUTpiVCQAbN6RVVU57EbGxpp93QfF4AD4eGoVaa"),
            concat!("L2", "G4TMhjvXRqeoZU7t4T5i6bu2LZfDYwws2MyEKesc4B8kntvuAX"),
        ],
    },
    Rule {
        kind: "ansible-vault",
        keywords: &["$ANSIBLE_VAULT;"],
        find: Find::Text,
        pattern: r"\$ANSIBLE_VAULT;[0-9.]+;[A-Z0-9]+(?:;[A-Za-z0-9_-]+)?(?P<secret>(?:(?:\s|\\r|\\n|[+-])+[0-9a-f]{16,80})+)",
        samples: &[concat!(
            "$A",
            "NSIBL",
            "E_VAULT;1.1;AES256\nc1d98995c8e21a571b315232e5d5fdd4204e73a7ef0d35e",
            "a0ab0d56102c218f42f66f39baa7e68b4\n14cf9261d75496b94c6d",
            "a36599992389a7deedfe039e9ac4be1b5a7976ff834785d976b532e3e0f2\n4cd81",
            "a38047e0cb64ed381409fcc9d7d5e9a6437"
        )],
        secrets: &[concat!(
            "c1",
            "d98995c8e21a571b315232e5d5fdd4204e73a7ef0d35ea0ab0d56102c218f42f66",
            "f39baa7e68b4\n14cf9261d75496b94c6da36599992389a7deedfe039e9ac4be1b5",
            "a7976ff834785d976b532e3e0f2\n4cd81a38047e0cb64ed381409fcc9d7d5e9a64",
            "37"
        )],
    },
    Rule {
        kind: "kubernetes-secret",
        keywords: &["kind: Secret", "kind: \"Secret\""],
        find: Find::Hand(Reader::KubernetesSecret),
        pattern: "",
        samples: &[
            concat!(
                "ap",
                "iVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: 4r4H7",
                "nMg0D",
                "TatyG+wXyg=\n"
            ),
            concat!(
                "ap",
                "iVersion: v1\ndata:\n  tls.crt: 0on9IOhX1GbXwswaDWH9",
                "CZ5knZsXzWBtstkXpr1o\nkind: Secret\n"
            ),
        ],
        secrets: &[
            concat!("4r", "4H7nMg0DTatyG+wXyg="),
            concat!("0o", "n9IOhX1GbXwswaDWH9CZ5knZsXzWBtstkXpr1o"),
        ],
    },
    Rule {
        kind: "jwt",
        keywords: &["eyJ"],
        find: Find::At(8),
        pattern: r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        samples: &[
            concat!(
                "e",
                "yJhbGciOiJIUzI1NiJ9.e",
                "yJ85kC06fh45OkH4lACUKWCPZUbUTocAunr2Hbxktgk8BovNk0wddFbuude5a9.Lds",
                "-iMTgDAhoPJ2bM1WFCPRhz03OeRXmshDD-TvndWe"
            ),
            concat!("e", "yJhbGciOiJub25lIn0.e", "yJmCNaThGSkQq9nkSk5pvTGfaIv5UTmw281E5f8kLr."),
        ],
        secrets: &[],
    },
    Rule {
        kind: "jwe",
        keywords: &["eyJ"],
        find: Find::At(16),
        pattern: r"eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?",
        samples: &[concat!(
            "e",
            "yJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..5HvjV0nhcx2Ri5xG.PrISxirWc",
            "bgyPYFsDepnItWvAHdcRWFL1mc0XxGxmBEXTL0MUK5kKRvYE33tXwMEMrL683CCGPa",
            "KLse8.LMRmSQRKaSE6tPyaLsfJ8W"
        )],
        secrets: &[],
    },
    // A token encoded as base64 again, as in a Kubernetes secret.
    Rule {
        kind: "jwt",
        keywords: &["ZXlK"],
        find: Find::Encoded(40),
        pattern: r"ZXlK[A-Za-z0-9+/_-]{40,}={0,2}",
        samples: &[concat!(
            "ZX",
            "lKaGJHY2lPaUpJVXpJMU5pSjku5W0ZBiukn1flC462s818vPS0KCp6xTBKKYLlJuY1",
            "lx6hr0P0U4E4GxqDlQPDzwuPTeeku0z6gIl8BM2D="
        )],
        secrets: &[],
    },
    Rule {
        kind: "url-password",
        keywords: &["://"],
        find: Find::Hand(Reader::UrlPassword),
        pattern: "",
        samples: &[
            concat!("po", "stgres:", "//app:S3crNa", "miPk97@db.internal:5432/app"),
            concat!("re", "dis:", "//:v2PwIz", "ZPjjfZ@cache:6379/0"),
            concat!("mo", "ngodb+srv:", "//root:XptwKeR", "GI8JprD@cluster0.mongodb.net/?retryWrites=true"),
            concat!("am", "qp:", "//guest:gu3s", "tcBJQ@mq/vhost"),
            concat!("ht", "tps:", "//ae06683c02c1dea378ae", "96acea2f3c5a06772d7c@example.org/repo.git"),
            concat!("ht", "tps:", "//deploy:SGgVIcgL6t", "ri1iAOf9si@git.example.org/x.git"),
            concat!("my", "sql:", "//u:p/ws", "mEaa1@h/db"),
        ],
        secrets: &[
            concat!("S3", "crNamiPk97"),
            concat!("v2", "PwIzZPjjfZ"),
            concat!("Xp", "twKeRGI8JprD"),
            concat!("gu", "3stcBJQ"),
            concat!("ae", "06683c02c1dea378ae96acea2f3c5a06772d7c"),
            concat!("SG", "gVIcgL6tri1iAOf9si"),
            concat!("p/", "wsmEaa1"),
        ],
    },
    Rule {
        kind: "otp-secret",
        keywords: &["otpauth://"],
        find: Find::At(0),
        pattern: r#"(?i)otpauth://[^\s"'<>]*?[?&]secret=(?P<secret>[a-z2-7]{8,}=*)"#,
        samples: &[concat!(
            "ot",
            "pauth:",
            "//totp/ACME:jo@example.org?issuer=ACME&sec",
            "ret=XMMKN6PNPHGKN3IJ",
            "TLYBRZMWDTVVXA4G&digits=6"
        )],
        secrets: &[concat!("XM", "MKN6PNPHGKN3IJTLYBRZMWDTVVXA4G")],
    },
    Rule {
        kind: "crypt-hash",
        keywords: &["$2a$", "$2b$", "$2x$", "$2y$"],
        find: Find::At(0),
        pattern: r"\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}",
        samples: &[
            concat!("$2", "b$12$TjHePXJ6LaXpcAqYGpIo5nqBEUrCcYDEvEe07scN2XZVSSDElFAmL"),
            concat!("$2", "y$10$nFldcISO3iooAJ50XCgWxzHYzHHKH1OIEY36SQ5tmrR1KWti5XCmU"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "crypt-hash",
        keywords: &["$1$", "$5$", "$6$", "$y$", "$7$", "$apr1$", "$gy$"],
        find: Find::At(0),
        pattern: r"\$(?:1|5|6|7|y|gy|apr1)\$(?:[A-Za-z0-9=,./]{1,64}\$){1,2}[./A-Za-z0-9]{20,}",
        samples: &[
            concat!(
                "$6",
                "$rounds=5000$Scv7DPyJLWPHRFSd$K23JrlB0DeKFznBRde2dT78plZYfvaKTrNOb",
                "z0yk05EZGYnXFIjCk4NGEaGQkQfCaHQnCQGT2gcqQzEVJEFG0H"
            ),
            concat!("$1", "$BvLrcfG1$RIjeb5fNAmyNtZKEW6FCMO"),
            concat!("$y", "$j9T$a5ZKTQv60JhwSSYy8kdoFR$owC7vCwCjiNGSYJvwSUVfmUxjg9vTIeVHP24gK", "0DUMd"),
            concat!("$a", "pr1$C3sMjcHa$XPJ3bkM1P56XRARwwKQLc9"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "crypt-hash",
        keywords: &["$argon2", "pbkdf2_sha", "{SSHA", "$pbkdf2", "$scrypt$"],
        find: Find::At(0),
        pattern: r"(?:\$argon2[a-z]{1,2}\$[A-Za-z0-9=,$+/]{40,}|pbkdf2_sha[0-9]+\$[0-9]+\$[A-Za-z0-9]+\$[A-Za-z0-9+/=]{20,}|\$(?:pbkdf2[a-z0-9-]*|scrypt)\$[A-Za-z0-9=,$+/.]{40,}|\{SSHA[0-9]*\}[A-Za-z0-9+/]{20,}={0,2})",
        samples: &[
            concat!(
                "$a",
                "rgon2id$v=19$m=65536,t=3,p=4$QHEVXNf6FfNqBtbmUfPFPi$JUWvgD2twaAs2Z",
                "l2AxcV5kllypCFHPB1J3QdFxAvS3a"
            ),
            concat!(
                "pb",
                "kdf2_sha256$600000$Aiwarz5DseXBgQoRm2X2gU$PoWb40e+lOBAbR551tVHDwAV",
                "o96CS2PxOP856faLSnj="
            ),
            concat!("{S", "SHA}mBnYRUBJvnHf7SfpCgS6HgDs8cZee+c1bnbnaInC"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "pgpass",
        keywords: &[":5432:", ":*:*:", ":5433:", ":6432:"],
        find: Find::Text,
        pattern: r#"(?m)(?:^[+-]?|\\n|[\s"'(])[^\s:#\\"'(]{1,64}:(?:[0-9]{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<secret>[^\s:\\"']{4,64})(?:$|[\s\\"'])"#,
        samples: &[
            concat!("db", ".internal:5432:orders:app:Qx6M39nM", "Cliwnsap"),
            concat!("*:", "*:*:postgres:HoPWuE", "OzAFs2"),
        ],
        secrets: &[concat!("Qx", "6M39nMCliwnsap"), concat!("Ho", "PWuEOzAFs2")],
    },
    Rule {
        kind: "sql-password",
        keywords: &["identified by", "identified with"],
        find: Find::With(&["'", "\""]),
        pattern: r#"(?i)identified (?:by|with '?[a-z0-9_]+'? (?:by|as)) (?:password )?\\*['"](?P<secret>[^'"\s\\]{3,})\\*['"]"#,
        samples: &[
            concat!("CR", "EATE USER app IDENTIFIED BY 'hMUgb", "q491A';"),
            concat!("GR", "ANT ALL ON *.* TO 'jo'@'%' IDENTIFIED BY \"hk2Yw", "b7Q1f\";"),
        ],
        secrets: &[concat!("hM", "Ugbq491A"), concat!("hk", "2Ywb7Q1f")],
    },
    Rule {
        kind: "recovery-phrase",
        keywords: &[
            "mnemonic",
            "seed phrase",
            "seed_phrase",
            "seedphrase",
            "recovery phrase",
            "recovery_phrase",
        ],
        find: Find::At(0),
        pattern: r#"(?i)(?:mnemonic|(?:seed|recovery)[ _]?phrase)[\\"']*\s{0,3}(?:=|:|is)\s{0,3}[\\"']*(?P<secret>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})"#,
        samples: &[concat!(
            "mn",
            "emonic: orbit velvet cactus ripple lemon harbor",
            " quartz tunnel maple zebra pulse island"
        )],
        secrets: &[concat!(
            "or",
            "bit velvet cactus ripple lemon harbor quartz tunnel maple zebra pu",
            "lse island"
        )],
    },
    Rule {
        kind: "session-cookie",
        keywords: &[
            "PHPSESSID=",
            "JSESSIONID=",
            "connect.sid=",
            "sessionid=",
            "session_id=",
            "_session=",
            "SessionId=",
        ],
        find: Find::At(0),
        pattern: r"(?i)(?:phpsessid|jsessionid|connect\.sid|session_?id|_session)=(?P<secret>[A-Za-z0-9%._:+/-]{16,}=*)",
        samples: &[
            concat!("PH", "PSES", "SID=6ckrbk8yjeq41", "t5wxfwc9bewnd"),
            concat!("_g", "itlab_ses", "sion=4d2e2b74f94900e4", "ae6c57b892418b0a"),
            concat!(
                "co",
                "nne",
                "ct.sid=s%3A53OhsmLCI4OE0Nw1Hdhx56gU57qsYOhP.y",
                "tseG5Qlc3XAlG52JVjzhA4lXFyAAoYiIypZvMkk"
            ),
        ],
        secrets: &[
            concat!("6c", "krbk8yjeq41t5wxfwc9bewnd"),
            concat!("4d", "2e2b74f94900e4ae6c57b892418b0a"),
            concat!("s%", "3A53OhsmLCI4OE0Nw1Hdhx56gU57qsYOhP.ytseG5Qlc3XAlG52JVjzhA4lXFyAAoY", "iIypZvMkk"),
        ],
    },
];
