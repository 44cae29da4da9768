//! Which names are names of secrets.

/// What a name says its value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// May be any word at all, so the value need not look like a secret.
    Password,
    Secret,
    /// Made by machines, and the name is common in parsers and models: the value must look like a secret.
    Token,
    Key,
    /// The value of an `Authorization` header: a scheme and a credential.
    Authorization,
    /// `name=value` pairs.
    Cookie,
    /// `user:password` in base64, as in the configuration of Docker and npm.
    Login,
    /// May be a key, if its value is one.
    Unknown,
}

impl Class {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Class::Password => "password",
            Class::Secret => "secret",
            Class::Token => "token",
            Class::Key | Class::Unknown => "api-key",
            Class::Authorization | Class::Login => "authorization",
            Class::Cookie => "cookie",
        }
    }
}

/// Whether a JSON object's key or a variable names a secret, so that its string value must go whatever it looks
/// like (`password`, `apiKey`, `client_secret`, `AWS_SECRET_ACCESS_KEY`, `authorization`; not `token_count`,
/// `max_tokens`, `keyboard`, `tokenizer`, `key`).
pub fn names_a_secret(key: &str) -> bool {
    // `auth` alone is as often the name of a method, and what it holds is recognised by its value.
    classify(key).is_some_and(|class| !matches!(class, Class::Login | Class::Unknown))
}

/// What a name says about its value: the last of its words that says anything decides, unless a word after it
/// or the word before it takes that back.
pub(super) fn classify(name: &str) -> Option<Class> {
    // The shell's name for the working directory.
    if matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    if !name.is_ascii() || name.contains(' ') {
        return FOREIGN.iter().any(|foreign| name.eq_ignore_ascii_case(foreign)).then_some(Class::Password);
    }
    let is_shouted = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let words: Vec<String> = words(name).map(str::to_ascii_lowercase).collect();
    let (at, class) = words
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, word)| Some((at, class_of(word, &words[..at], is_shouted)?)))?;
    // `pass_through` passes something on.
    if words[at] == "pass" && at + 1 < words.len() {
        let is_split = matches!(words[at + 1].as_str(), "phrase" | "word" | "code");
        return (is_split && at + 2 == words.len()).then_some(Class::Password);
    }
    // A Vault's `secret_id` is a secret, though other ids are none.
    if words[at] == "secret" && words[at + 1..] == ["id"] {
        return Some(class);
    }
    let taken_back = words[at + 1..].iter().any(|word| is_in(ABOUT_A_SECRET, word.as_str()))
        || words.first().is_some_and(|word| at > 0 && is_in(QUESTIONS, word.as_str()));
    (!taken_back).then_some(class)
}

/// What a word says, given the words before it.
fn class_of(word: &str, before: &[String], is_shouted: bool) -> Option<Class> {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let previous = before.last().map_or("", String::as_str);
    let ends_with = |stem: &str| word.ends_with(stem);
    if PASSWORDS.split_ascii_whitespace().any(ends_with) {
        return Some(Class::Password);
    }
    match word {
        "pass" if is_in(PASSES, previous) => None,
        "pass" | "pw" | "psk" | "rootpw" | "bindpw" | "requirepass" | "masterauth" | "mdp" | "clave" => {
            Some(Class::Password)
        }
        _ if word.strip_suffix("pass").is_some_and(|owner| is_in(PASS_OWNERS, owner)) => {
            Some(Class::Password)
        }
        "secrets" => Some(Class::Secret),
        _ if ends_with("secret") => Some(Class::Secret),
        _ if ends_with("token") => (!is_in(PARSED_TOKENS, previous)).then_some(Class::Token),
        "bearer" => Some(Class::Token),
        "secretkey" => Some(Class::Secret),
        "key" if previous == "secret" => Some(Class::Secret),
        // A personal access token.
        "pat" => (!before.is_empty() && is_shouted || is_in(PAT_OWNERS, previous)).then_some(Class::Token),
        "key" if is_in(KEY_OWNERS, previous) => Some(Class::Key),
        // `ACME_KEY`: who the owner is says nothing, so the value must look random.
        "key" => (is_shouted && before.len() == 1 && !is_in(PUBLIC_KEYS, previous)).then_some(Class::Unknown),
        "passkey" | "wif" | "privkey" => Some(Class::Key),
        _ if word.strip_suffix("key").is_some_and(|owner| is_in(KEY_OWNERS, owner)) => Some(Class::Key),
        "credential" | "credentials" | "creds" => Some(Class::Key),
        "authorization" => Some(Class::Authorization),
        "cookie" => Some(Class::Cookie),
        "auth" if before.is_empty() => Some(Class::Login),
        _ => None,
    }
}

/// Whether a list of words, with white space between them, holds a word.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

/// The last word of a name, in lower case.
pub(super) fn last_word(name: &str) -> String {
    words(name).last().unwrap_or("").to_ascii_lowercase()
}

/// The words of a name: `_`, `-`, `.` and the like separate them, and so does a change to upper case
/// (`apiKey`, `APIKey`).
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(humps).filter(|word| !word.is_empty())
}

fn humps(part: &str) -> impl Iterator<Item = &str> {
    let mut rest = part;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let hump_at = (1..bytes.len()).find(|&at| {
            let upper = bytes[at].is_ascii_uppercase();
            let after_lower = !bytes[at - 1].is_ascii_uppercase();
            let before_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            upper && (after_lower || before_lower)
        });
        let (word, remaining) = rest.split_at(hump_at.unwrap_or(rest.len()));
        rest = remaining;
        Some(word)
    })
}

/// Words for a password, alone or at the end of a longer word (`dbpassword`).
const PASSWORDS: &str = "\
    password passwords passwd passphrase passcode pwd passwort kennwort wachtwoord passord senha \
    contrasena motdepasse adgangskode losenord salasana haslo heslo sifre";

/// The same in words that have other letters than ASCII's, or a space.
pub(super) const FOREIGN: &[&str] = &[
    "mot de passe",
    "mot_de_passe",
    "contrase\u{f1}a",
    "contrase\u{d1}a",
    "contrasen\u{303}a",
    "has\u{142}o",
    "\u{15f}ifre",
    "l\u{f6}senord",
    "jelsz\u{f3}",
    "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
    "\u{41f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
    "\u{5bc6}\u{7801}",
    "\u{5bc6}\u{78bc}",
    "\u{53e3}\u{4ee4}",
    "\u{30d1}\u{30b9}\u{30ef}\u{30fc}\u{30c9}",
    "\u{be44}\u{bc00}\u{bc88}\u{d638}",
];

/// Whose personal access tokens are called `pat` in lower case, where it may be a pattern as well.
const PAT_OWNERS: &str = "ado airtable asana azdo azure bitbucket databricks devops gh ghcr git github gitlab gl jira \
                          npm personal snowflake vsts";

/// Keys that are no secrets.
const PUBLIC_KEYS: &str = "\
    cache candidate column composite default dedup dict event field filter foreign group hash hot idempotency index \
    json lookup map meta object partition primary public publishable registry row search shift sort storage type \
    unique";

/// With one of these before it, a key is a secret; `public_key`, `cache_key` and `primary_key` are none.
const KEY_OWNERS: &str = "\
    access account admin aes api app application auth cipher client consumer cookie crypto \
    decryption deploy encrypt encryption function functions hmac ingest integration jwt licence license live master \
    openai anthropic bot datadog gemini gpg groq mailgun maps openrouter pgp preshared priv private \
    product recovery role root rsa secret security sendgrid sentry server service session shared \
    sign signature signing ssh ssl storage stripe subscription symmetric tls twilio unseal vault \
    wallet webhook wrapping";

/// `dbpass`, `storepass`: words that are written together.
const PASS_OWNERS: &str = "\
    admin db ftp key ldap mail my mysql pg require root smtp srcstore ssh store user";

/// Passes over something.
const PASSES: &str = "\
    analysis compiler depth first fast final last main multi next one opt optimization prev \
    previous render second shadow single sub test third two";

/// Tokens of a parser, a model or a page.
const PARSED_TOKENS: &str = "\
    any bad begin bos cancel cancellation close closing cls continuation current cursor end eos \
    expected first got ident identifier input invalid keyword last lex literal lookahead mask next \
    open opening operator output pad page parser peek per prev previous sep skip special start stop \
    string sync syntax unexpected unk unknown";

/// A word after the secret's that makes the name speak about a secret instead of holding it.
const ABOUT_A_SECRET: &str = "\
    age alg algo algorithm arn array at attempts audience authenticate bits boundary bucket budget \
    buffer builder button bytes cache callback chars class cmd column command comment config \
    configuration cost count counter counts created date description dialog dir directory disabled \
    enabled encoding encryption endpoint env error errors estimate event exists expiration expire \
    expired expires expiry factory fd fds field fields file filename files fingerprint flag flags \
    folder form format function generator handler help helper hint host icon id ids in index info \
    input issuer iter iterator kind kinds label labels len length less level lifetime limit limits \
    list location manager map match max message messages meta metadata method mgr min mode model \
    modified msg name names num number offset option optional options owner page parser path paths \
    pattern patterns per placeholder policies policy port pos position prefix present price prompt \
    property provider range ranges rate ratio ref refs regex regexp remaining required reset review \
    rotation row rule rules schema scope scopes screen script selector service set setting settings \
    size sizes source span spans spec specs state stats status stdin store strategy stream strength \
    subject suffix table target template time timeout timestamp title total tree ttl type types \
    updated uri url urls usage used user username valid validation validator var variable vec \
    verified version view visibility visible window";

/// Names that ask whether there is a secret, or count secrets.
const QUESTIONS: &str = "\
    allow avg count forgot has hide is max min n needs no num remember require requires show toggle \
    total uses validate without";
