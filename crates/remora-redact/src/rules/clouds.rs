//! Clouds, databases and secret stores.

use crate::secrets::{Find, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        kind: "aws-access-key",
        keywords: &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        find: Find::At(16),
        pattern: r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        samples: &[concat!("AK", "IAR4OIJACD5BN74SVT"), concat!("AS", "IA5OCIUL2SBME4JVNE")],
        secrets: &[],
    },
    // The second column of the CSV file that AWS offers for download.
    Rule {
        kind: "aws-secret-key",
        keywords: &["AKIA", "ASIA"],
        find: Find::At(16),
        pattern: r#"A[KS]IA[A-Z0-9]{16}[\s,:;|"'=]{1,8}(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#,
        samples: &[concat!("AK", "IASPNBLOHGOKE5CJNS,ZjSNO66Obcua9AoEYuTf", "7ZhJb7lStyIFu0GgFb3k")],
        secrets: &[concat!("Zj", "SNO66Obcua9AoEYuTf7ZhJb7lStyIFu0GgFb3k")],
    },
    Rule {
        kind: "aws-secret-key",
        keywords: &["aws", "amazon"],
        find: Find::Value,
        pattern: r"[A-Za-z0-9/+]{40}",
        samples: &[
            concat!("aw", "s_default = u5YBIeNSzc56gPuGucnr", "teqYCwkoAuaUDWOivnBF"),
            concat!("AW", "S_SEC", "RET_ACCESS_K", "EY=oUTMaiWbUMOP50Z3q7A2", "hPyZHB2AwwUMvWPuIE+/"),
        ],
        secrets: &[
            concat!("u5", "YBIeNSzc56gPuGucnrteqYCwkoAuaUDWOivnBF"),
            concat!("oU", "TMaiWbUMOP50Z3q7A2hPyZHB2AwwUMvWPuIE+/"),
        ],
    },
    Rule {
        kind: "aws-session-token",
        keywords: &["FwoGZXIvYXdz", "IQoJb3JpZ2lu"],
        find: Find::At(0),
        pattern: r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9/+]{60,}={0,2}",
        samples: &[
            concat!(
                "IQ",
                "oJb3JpZ2lulaCxzPUoelGPn812KzVPsU9IMWdelaFIiXDYPkMFiKm256gMoFYTIKAC",
                "LEOcK6AgnjkgMtPHhYvoUFItcd3yaL3pEvp9bS1XnLOCfiC2cZHHaxfRWGL7rT9nxn",
                "ZrMRN00kPnFTdQRrQaD53CPVBgrDkHXyCet1xzxd2DikAoP2Vcbu36i7Z2=="
            ),
            concat!(
                "Fw",
                "oGZXIvYXdzEi5HTSR4DqwGMYpxI2leMl6IjNphmfAKMY2ACX573F7RloiKkRN6Z5g1",
                "StCXNjLFcoqtkPaqxwBcLWLBDAA2ZWg55dq43nQuE0s3uoymR5D8OphXPY1A1ZqRdA",
                "qG7K1syrT087zIJTFNR3cVMnOlMfQRBcuxFqhV3awMFOOIUP"
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "aws-bedrock-key",
        keywords: &["ABSKQmVkcm9ja", "bedrock-api-key-"],
        find: Find::Encoded(20),
        pattern: r"(?:ABSKQmVkcm9ja|bedrock-api-key-)[A-Za-z0-9+/_-]{40,}={0,2}",
        samples: &[
            concat!(
                "AB",
                "SKQmVkcm9ja0FQSUtleSM3lgo8pE9AUZ9xuFIn3DSzpB7o6vCfTstXZw6wuGkw3wcv",
                "4LXznHL2ntlcRPVd41WhP4rgzhSOXB5jWTbuYQ2z287C="
            ),
            concat!(
                "be",
                "drock-api-k",
                "ey-4ysrbEAwqN316EhhFUrtcaotydq11fwAvvhNMVfVl1M5rrQ5UxieVQcNe5tRbsR",
                "X9V9jF0dJ15kjTrNwaHlJ2CXLoqbxd9DJYbwhJ4cot5xuV7b1Hqmqnym8=="
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "aws-marketplace-key",
        keywords: &["amzn.mws."],
        find: Find::At(8),
        pattern: r"amzn\.mws\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        samples: &[concat!("am", "zn.mws.67546c0e-fb68-ba10-b4e8-9c2b6859b92d")],
        secrets: &[],
    },
    Rule {
        kind: "signed-url",
        keywords: &["amz-signature=", "goog-signature="],
        find: Find::At(32),
        pattern: r"(?i)(?:amz|goog)-signature=(?P<secret>[0-9a-f]{32,})",
        samples: &[concat!(
            "X-",
            "Amz-Signa",
            "ture=26d2f22859b04ce2fa993c5742089740",
            "fb5f0adb44ee008598db3ed55bf7d7a1&X-Amz-Expires=3600"
        )],
        secrets: &[concat!("26", "d2f22859b04ce2fa993c5742089740fb5f0adb44ee008598db3ed55bf7d7a1")],
    },
    Rule {
        kind: "gcp-api-key",
        keywords: &["AIza"],
        find: Find::At(35),
        pattern: r"AIza[A-Za-z0-9_-]{35}",
        samples: &[concat!("AI", "zaSyDVOh6adneFNDPwG6utoctE8_pwcFjQHol")],
        secrets: &[],
    },
    Rule {
        kind: "gcp-oauth-token",
        keywords: &["ya29."],
        find: Find::At(16),
        pattern: r"ya29\.[A-Za-z0-9_.-]{20,}",
        samples: &[concat!(
            "ya",
            "29.a0kkaW5luxXkDwneE24p3u9mf7iRGQDWNUJlS7jLaMiJiZib7fZsG6k9AKN3GH7",
            "SZM-FAnlHv4xQt96BWIov2JmwAi0xdutliWogz2waWQlhpq5fvbwFb9YGPh"
        )],
        secrets: &[],
    },
    Rule {
        kind: "gcp-refresh-token",
        keywords: &["1//0"],
        find: Find::At(30),
        pattern: r"1//0[A-Za-z0-9_-]{30,}",
        samples: &[concat!(
            "1/",
            "/0gZAe6J5u6tUACv7YH-KRRXhyw0Skh9WD0ZMPjj5L_3jqidu38gm8KR4-e1pLTflm",
            "AJqvVa9oz5ap0viPLyvP9PPG-xi"
        )],
        secrets: &[],
    },
    Rule {
        kind: "gcp-client-secret",
        keywords: &["GOCSPX-"],
        find: Find::At(20),
        pattern: r"GOCSPX-[A-Za-z0-9_-]{20,}",
        samples: &[concat!("GO", "CSPX-9DFbwmb6uVQh26CrcU3KrzJ-q8eR")],
        secrets: &[],
    },
    Rule {
        kind: "gcp-hmac-key",
        keywords: &["GOOG1"],
        find: Find::At(40),
        pattern: r"GOOG1[A-Z0-9]{40,}",
        samples: &[concat!("GO", "OG1EUOODE4HQMQCDUR4S4KU2QLQNQMAVQHE3UKOARHKDDS45SREYN43MMLH3")],
        secrets: &[],
    },
    Rule {
        kind: "azure-storage-key",
        keywords: &["AccountKey=", "SharedAccessKey="],
        find: Find::At(0),
        pattern: r"(?i)(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{20,}={0,2})",
        samples: &[
            concat!(
                "De",
                "faultEndpointsProtocol=https;AccountName=files;Accou",
                "ntK",
                "ey=MNvDq8gt+zMEPg5D/drRRX+edayXKqu/EoYbNOW0bsCq",
                "oj+mxCFyE727lrMir7Hk3CjiKhJkagnhTibBbhJt1A==;EndpointSuffix=core.w",
                "indows.net"
            ),
            concat!(
                "En",
                "dpoint=sb:",
                "//bus.servicebus.windows.net/;SharedAccessK",
                "eyName=all;SharedAcces",
                "sK",
                "ey=BCe+3ZxrIGQa0jZbxFaxMn",
                "Jqlg1FXe6z40yNq+ztM5Q="
            ),
        ],
        secrets: &[
            concat!(
                "MN",
                "vDq8gt+zMEPg5D/drRRX+edayXKqu/EoYbNOW0bsCqoj+mxCFyE727lrMir7Hk3Cji",
                "KhJkagnhTibBbhJt1A=="
            ),
            concat!("BC", "e+3ZxrIGQa0jZbxFaxMnJqlg1FXe6z40yNq+ztM5Q="),
        ],
    },
    Rule {
        kind: "azure-client-secret",
        keywords: &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"],
        find: Find::Behind(3),
        pattern: r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
        samples: &[concat!("gT", "Q8Q~kXV5gCGvIJzdPxFhoV81jFynMpHPpCMEof")],
        secrets: &[],
    },
    Rule {
        kind: "azure-sas",
        keywords: &["sig="],
        find: Find::At(0),
        pattern: r"(?i)sig=(?P<secret>[a-z0-9%+/_-]{36,}(?:%3d|=){0,2})",
        samples: &[concat!(
            "ht",
            "tps:",
            "//files.blob.core.windows.net/in?sv=2024-11-04&se=2026-01-01&si",
            "g=Dly2yPnJbe38MkIQT0CouvG",
            "m0NQd3apyzhh8Fx4pm59%3D"
        )],
        secrets: &[concat!("Dl", "y2yPnJbe38MkIQT0CouvGm0NQd3apyzhh8Fx4pm59%3D")],
    },
    Rule {
        kind: "azure-devops-token",
        keywords: &["AZDO"],
        find: Find::Behind(76),
        pattern: r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}",
        samples: &[concat!(
            "Tm",
            "98015voUdwwjOaPWdHJA6QlJ4nRv8RKdt5iZi01YIOiYgEjrmb24eql3ZwrWEkYB2M",
            "BVMkwgQ0AZ",
            "DOGsd7"
        )],
        secrets: &[],
    },
    Rule {
        kind: "azure-ai-key",
        keywords: &["JQQJ99"],
        find: Find::Behind(52),
        pattern: r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}",
        samples: &[concat!(
            "b5",
            "rVp4Qad4nSSruJTvJIX3Fr1udgLBZ8JpxaAvRxFnhVC1geLIY6JQQ",
            "J99QWOQDCNZLFmVgue7UdObhM606h"
        )],
        secrets: &[],
    },
    Rule {
        kind: "azure-function-key",
        keywords: &["AzFu"],
        find: Find::Behind(44),
        pattern: r"[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5,}={0,2}",
        samples: &[concat!("gL", "sYL6x8tz4OaTzrrl8dw1cwYzPzFQA2ThXysK6ngJzAAzFur2BEN==")],
        secrets: &[],
    },
    Rule {
        kind: "azure-search-key",
        keywords: &["AzSe"],
        find: Find::Behind(42),
        pattern: r"[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}",
        samples: &[concat!("r3", "9kOcndLb3oxGul1dZo6pdF8XQLKLXYmmyrGqBW2JAzSeKMudU2")],
        secrets: &[],
    },
    Rule {
        kind: "alibaba-access-key",
        keywords: &["LTAI"],
        find: Find::At(12),
        pattern: r"LTAI[A-Za-z0-9]{12,20}",
        samples: &[concat!("LT", "AI5tsBZUagX4qP3GMCcT2o")],
        secrets: &[],
    },
    Rule {
        kind: "alibaba-secret-key",
        keywords: &["alibaba", "aliyun"],
        find: Find::Value,
        pattern: r"[A-Za-z0-9]{30}",
        samples: &[concat!("al", "ibaba_cloud: ScwsVgICxtsIRTH", "oFU8wzyrZivvZSB")],
        secrets: &[concat!("Sc", "wsVgICxtsIRTHoFU8wzyrZivvZSB")],
    },
    Rule {
        kind: "tencent-secret-id",
        keywords: &["AKID"],
        find: Find::At(32),
        pattern: r"AKID[A-Za-z0-9]{32}",
        samples: &[concat!("AK", "IDOCHAjLrfBD5SZBSdjSXlMjrMr1ykDfKr")],
        secrets: &[],
    },
    Rule {
        kind: "yandex-key",
        keywords: &["AQVN"],
        find: Find::At(35),
        pattern: r"AQVN[A-Za-z0-9_-]{35,38}",
        samples: &[concat!("AQ", "VNW_YdZfkxvHUp_aCNOPv2U3zgK8SYdqx-e7XY")],
        secrets: &[],
    },
    Rule {
        kind: "digitalocean-token",
        keywords: &["dop_v1_", "doo_v1_", "dor_v1_"],
        find: Find::At(64),
        pattern: r"do[opr]_v1_[0-9a-f]{64}",
        samples: &[
            concat!("do", "p_v1_58f83a5bf669d9bc2bb19dcba37331b3b48b557406ec54417c527f16171f3", "d44"),
            concat!("do", "o_v1_b4ff7a36d5aa086d81fb9e6d2e0551e3ee1c9c1ada2bb2150fb9fa3828ce9", "5aa"),
            concat!("do", "r_v1_3ffc168c0ce107f2e68639a3ddc416a207ad87ca07b5b40b64d84e3042afe", "c95"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "cloudflare-token",
        keywords: &["cfut_", "cfat_", "cfk_"],
        find: Find::At(40),
        pattern: r"cf(?:ut|at|k)_[A-Za-z0-9_-]{40,}",
        samples: &[concat!("cf", "ut_fS7CJK3A2A3ymWVXvd4g0RgWvgTdesWSx1vBoXrCJ0tYISey")],
        secrets: &[],
    },
    Rule {
        kind: "cloudflare-origin-key",
        keywords: &["v1.0-"],
        find: Find::At(24),
        pattern: r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
        samples: &[concat!(
            "v1",
            ".0-9f67a9cb8119683f3a45de2f-9bfd2ffabe463aa87fbc831a67e25ba704c1e1",
            "48c06e025cc67eedf111eb53e4f02df5d09f978f99352764539d98b994e8f8763b",
            "2e5fcc0e73c6024d04df82cab04076c57a2f205aa7"
        )],
        secrets: &[],
    },
    Rule {
        kind: "cloudflare-key",
        keywords: &["cloudflare"],
        find: Find::Value,
        pattern: r"[A-Za-z0-9_-]{37,40}",
        samples: &[concat!("cl", "oudflare = \"AkF0CAS8ep7sFWLL9iIk", "mhWMpRo78I4rvqquufuj\"")],
        secrets: &[concat!("Ak", "F0CAS8ep7sFWLL9iIkmhWMpRo78I4rvqquufuj")],
    },
    Rule {
        kind: "heroku-key",
        keywords: &["HRKU-"],
        find: Find::At(40),
        pattern: r"HRKU-[A-Za-z0-9_-]{40,}",
        samples: &[concat!("HR", "KU-AABpd5mySqIL4Vs1WTFk_UULqvTAMITo8FnjAHIBAz6Yt9ghiWHkZJHax3QJ")],
        secrets: &[],
    },
    Rule {
        kind: "heroku-key",
        keywords: &["heroku"],
        find: Find::Value,
        pattern: r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        samples: &[
            concat!("he", "roku: 25d30ad7-a61c-3ee4", "-c43e-aad31b781292"),
            concat!("HE", "ROKU_API_K", "EY=3e2418c7-d92c-e9ae", "-9bfd-23e5eea0dc77"),
        ],
        secrets: &[
            concat!("25", "d30ad7-a61c-3ee4-c43e-aad31b781292"),
            concat!("3e", "2418c7-d92c-e9ae-9bfd-23e5eea0dc77"),
        ],
    },
    Rule {
        kind: "fly-token",
        keywords: &["fo1_", "fm1a_", "fm1r_", "fm2_"],
        find: Find::Encoded(16),
        pattern: r"f(?:o1|m1[ar]|m2)_[A-Za-z0-9+/_-]{40,}={0,2}",
        samples: &[
            concat!("fo", "1_o6Q1AALEr4oCBBSZ38vqsto7h0b-s1D8YGSP0S25ekY"),
            concat!(
                "fm",
                "2_HbC3aYzCIBNLWJKRMDBAk1GeZkgE6v9BZLfF2a4TT91nG0GXS5sidyJCQpPZSGRp",
                "rVjGslUKH5s0oHPe3ZpqiB3D9ViTJW5OMNGZ6bsJPG6jMcR6678tPhnUxD9Fn0ThL5",
                "oVhQ51M1NTutetpXK1NsdPffGF5fAErs2sD5qlLnD7t9NGWaKHs9JyTb96vkyT4oKP",
                "iQ2c=="
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "vercel-token",
        keywords: &["vcp_", "vci_", "vca_", "vcr_", "vck_"],
        find: Find::At(24),
        pattern: r"vc[pairk]_[A-Za-z0-9]{24,}",
        samples: &[
            concat!("vc", "p_w6RLT4YKVrHYrb8FWNbkVnmT09Gb0WQaipwIHVgXcysuaWuiUFH35rcq"),
            concat!("vc", "k_8gkRJAEqixgrb43iLBxn4mP2IV3ZTqO22cVppsdIMRuAI3gqPk5SsNKv"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "vercel-blob-token",
        keywords: &["vercel_blob_rw_"],
        find: Find::At(30),
        pattern: r"vercel_blob_rw_[A-Za-z0-9]+_[A-Za-z0-9]{20,}",
        samples: &[concat!("ve", "rcel_blob_rw_WRElmOampXD21QAU_69qNxJS2Yzt2H2ijgLPUjsUg0G19paY6")],
        secrets: &[],
    },
    Rule {
        kind: "netlify-token",
        keywords: &["nfp_", "nfo_", "nfc_", "nfu_", "nfb_"],
        find: Find::At(36),
        pattern: r"nf[pocub]_[A-Za-z0-9]{36,}",
        samples: &[concat!("nf", "p_4f2EEBciNkvBFm5cl0ehP896zW6CvBCYJNru")],
        secrets: &[],
    },
    Rule {
        kind: "databricks-token",
        keywords: &["dapi", "dose"],
        find: Find::At(32),
        pattern: r"(?:dapi|dose)[0-9a-f]{32}(?:-[0-9])?",
        samples: &[
            concat!("da", "pi754a0bd0227927600663dea60fba2ef4"),
            concat!("da", "pi7a78fdbb24c1553fa168edcd167e481b-2"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "supabase-key",
        keywords: &["sbp_", "sb_secret_"],
        find: Find::At(30),
        pattern: r"(?:sbp_(?:v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{30,})",
        samples: &[
            concat!("sb", "p_31d330039f9ada2ad140787a6b4e853220efc0ef"),
            concat!("sb", "_sec", "ret_6pLuEVtPdGej0g-hgX4gJxFiPDp4yZ7"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "planetscale-token",
        keywords: &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"],
        find: Find::At(32),
        pattern: r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}",
        samples: &[
            concat!("ps", "cale_tkn_p4AsqGNbekijoDTj9Yoo4Q6K-BJ81MCrTO5fH9uJ8MP"),
            concat!("ps", "cale_pw_wltTU25ESj5ZYSjRvd2dlqbQw1mOYi-Tqde8fP7_oO4"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "neon-key",
        keywords: &["napi_"],
        find: Find::At(40),
        pattern: r"napi_[a-z0-9]{40,}",
        samples: &[concat!("na", "pi_tx4oved7w48vq31sj6oimpclcpk5hixoqsm3xryq3y1erf87vh2r5y97dtbotdg", "5")],
        secrets: &[],
    },
    Rule {
        kind: "render-key",
        keywords: &["rnd_"],
        find: Find::At(28),
        pattern: r"rnd_[A-Za-z0-9]{28,}\b",
        samples: &[concat!("rn", "d_M2HCA99N70DE9Aq0Q6GHl7XXYNMnz5oZ")],
        secrets: &[],
    },
    Rule {
        kind: "aiven-password",
        keywords: &["AVNS_"],
        find: Find::At(16),
        pattern: r"AVNS_[A-Za-z0-9_-]{16,}",
        samples: &[concat!("AV", "NS_xJlMgdv00vH9muLCxuF")],
        secrets: &[],
    },
    Rule {
        kind: "scalingo-token",
        keywords: &["tk-us-"],
        find: Find::At(40),
        pattern: r"tk-us-[A-Za-z0-9_-]{40,}",
        samples: &[concat!("tk", "-us-vbBQcVADvF2x2QLJ3TOnyXD32mLwkrzf9BI0JcLgB1GL0xLo")],
        secrets: &[],
    },
    Rule {
        kind: "tailscale-key",
        keywords: &["tskey-"],
        find: Find::At(20),
        pattern: r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}",
        samples: &[concat!("ts", "key-auth-jJgMql5Rb4ORA059-WWxBGpqz0dyu34HR0sm1FYqoi4qh73xa")],
        secrets: &[],
    },
    Rule {
        kind: "openshift-token",
        keywords: &["sha256~"],
        find: Find::At(43),
        pattern: r"sha256~[A-Za-z0-9_-]{43}",
        samples: &[concat!("sh", "a256~CO1L4FOgrFAeRFjsFasb7cSuEhN6wqGA6bnW79DgE7F")],
        secrets: &[],
    },
    Rule {
        kind: "vault-token",
        keywords: &["hvs.", "hvb.", "hvr."],
        find: Find::At(20),
        pattern: r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
        samples: &[
            concat!(
                "hv",
                "s.mdCaP3Obf6P-4Y-SAw29mse8nO2LfSkkq8-74_h-Tzq26cYGAfFcRMkUhTx8yTZP",
                "sP8mqDHHy0cE_9kQM0uZ6TTrNC"
            ),
            concat!(
                "hv",
                "b.h5Gongka8hccEfwocoM6MmMKkdKR2-7hGVxcDZ7rtNMj0m-J71zQro04-XiAYV5I",
                "XFibkerM4U_VsAK7_KtM1BSpJaumOSuDFTAz93OnYsxHtvAeVqz74ctrN_ZVgFh023",
                "GV_AJs3Edq"
            ),
        ],
        secrets: &[],
    },
    Rule {
        kind: "terraform-token",
        keywords: &[".atlasv1."],
        find: Find::Behind(14),
        pattern: r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        samples: &[concat!(
            "14",
            "wHrS8iHYrO17.atlasv1.gkNf5bFG8ifhkzq0zb-gE_ABB7GSmm0xi3lveRhPjR3iq",
            "QhJc5ViGR24Vn1otPH6hWV"
        )],
        secrets: &[],
    },
    Rule {
        kind: "pulumi-token",
        keywords: &["pul-"],
        find: Find::At(40),
        pattern: r"pul-[0-9a-f]{40}",
        samples: &[concat!("pu", "l-677e73c0f44ef9e371d25f61aca0bd1df791fe3d")],
        secrets: &[],
    },
    Rule {
        kind: "doppler-token",
        keywords: &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        find: Find::At(0),
        pattern: r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}",
        samples: &[
            concat!("dp", ".pt.giKzgCRY0jKk4f67swALdP8GI8PLAd00l8iYxJ7bPOB"),
            concat!("dp", ".st.dev.BArpHPknpR0pkT575OZDBaOOMJyqEQDxEaIS8iCqDLS"),
        ],
        secrets: &[],
    },
    Rule {
        kind: "1password-token",
        keywords: &["ops_ey"],
        find: Find::Encoded(40),
        pattern: r"ops_ey[A-Za-z0-9+/_-]{40,}={0,2}",
        samples: &[concat!(
            "op",
            "s_e",
            "yJOkwVP7lFL5VJyStlSvxpSJBTYelVJOAKoyzAgG1UZyLWQjxYq3QcxN59eIJCcJGp",
            "Ijw2dyhDj8SqFe0ZbHVISt5j8SQYcTWBPwtGEvQPuemOfNBcynkgSF0vPmliBhMWLR",
            "shXs9xGxBFwwKLMPoudlAzhvKLeLaj58M4HkCEGatZRbeFPDWb4qXtfF4rIwwz3SQO",
            "OzmXGBBB1zB6W37dN9K86ZNujVzKn47MJdC37TNqHWUX3mFvBpsc7Qh3pOC0YiQn2M",
            "jHtPxW0WttyY24lR8olVzmFKYy4qxXeZSceMCu="
        )],
        secrets: &[],
    },
    Rule {
        kind: "1password-secret-key",
        keywords: &["A3-"],
        find: Find::At(30),
        pattern: r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        samples: &[concat!("A3", "-OFGOVP-LD6SPF-C7B55-CRYOZ-65FG7-2GJZL")],
        secrets: &[],
    },
    Rule {
        kind: "cockroach-key",
        keywords: &["CCDB1_"],
        find: Find::At(60),
        pattern: r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}",
        samples: &[concat!("CC", "DB1_7MTUWpSQ0Bp0pszvOMxK4Y_lHSN9IJBdLpaBG8MchPq6llSwPpTn3pbs", "HroQzUG")],
        secrets: &[],
    },
    Rule {
        kind: "mongodb-atlas-key",
        keywords: &["mdb_sa_sk_"],
        find: Find::At(30),
        pattern: r"mdb_sa_sk_[A-Za-z0-9_-]{30,}",
        samples: &[concat!("md", "b_sa_sk_rogMY1WVUfXQZIYeM3XLrkMpBvg4a3iK4FSatJdt")],
        secrets: &[],
    },
    Rule {
        kind: "xata-key",
        keywords: &["xau_"],
        find: Find::At(30),
        pattern: r"xau_[A-Za-z0-9]{30,}",
        samples: &[concat!("xa", "u_wBIwWqi0KegZFCa31pCFOao3sWJV2EVGQVOqstQb")],
        secrets: &[],
    },
    Rule {
        kind: "cloudflare-tunnel-token",
        keywords: &["eyJhIjoi"],
        find: Find::At(80),
        pattern: r"eyJhIjoi[A-Za-z0-9+/_-]{80,}={0,2}",
        samples: &[concat!(
            "ey",
            "JhIjoidWZ2h7GGbhigZthhaOzXQNbczS2PFassurQK1OWzBCldaLW7Wa3ugD",
            "e4pFXlV23u3zXjR5AA1mytEZX5tuO6tin4inL2yDPjatNTIcRAYQdiWmJCwg",
            "YQlyqxdtkX1JFdg5IMSRqYKHca"
        )],
        secrets: &[],
    },
    // Output of `aws ssm get-parameter`.
    Rule {
        kind: "ssm-parameter",
        keywords: &["SecureString"],
        find: Find::Text,
        pattern: r#"(?s)SecureString["'\\n\s,|+-]{1,200}?Value[\\"']*\s{0,40}[:=|]\s{0,40}[\\"']*(?P<secret>[^"'\s|\\]+)"#,
        samples: &[
            concat!(
                "{\"",
                "Name\": \"/prod/db\", \"Type\": \"SecureString\", \"Value\": \"oJawi8M",
                "SFP20\", \"Version\": 1}"
            ),
            concat!("Ty", "pe: SecureString\nValue: tUUozydC72f0"),
            concat!("| ", " Type   |  SecureString |\n|  Value  |  kAWWHDrL4IRs  |"),
        ],
        secrets: &[concat!("oJ", "awi8MSFP20"), concat!("tU", "UozydC72f0"), concat!("kA", "WWHDrL4IRs")],
    },
    Rule {
        kind: "ssm-parameter",
        keywords: &["SecureString"],
        find: Find::Text,
        pattern: r"SecureString(?:\t|\\t)(?P<secret>[^\t\n\\]+)(?:\t|\\t)[0-9]+",
        samples: &[concat!("/p", "rod/db	SecureString	RMxWI1J5whWe	3")],
        secrets: &[concat!("RM", "xWI1J5whWe")],
    },
    Rule {
        kind: "ssm-parameter",
        keywords: &["SecureString"],
        find: Find::Text,
        pattern: r#""Value\\*"\s*:\s*\\*"(?P<secret>[^"\\]+)\\*"[^{}]{0,200}SecureString"#,
        samples: &[concat!("\"V", "alue\": \"O2eMFVhJ7pvP\", \"Type\": \"SecureString\"")],
        secrets: &[concat!("O2", "eMFVhJ7pvP")],
    },
];
