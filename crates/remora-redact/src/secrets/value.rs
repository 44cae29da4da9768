//! Whether the value of a secret's name is the secret itself, or a word, a type, a variable or a placeholder.
//!
//! The boundary is this: a value that a person may have chosen as a password is removed even if it is a plain word,
//! unless source code commonly has that word there (`string`, `required`). A value made by a machine (tokens and
//! keys) is removed only if it looks like one. So `password = "letmein"` is removed and `token = "identifier"` is
//! kept. A value spelled like a variable is kept (`password: dbPassword`, `password: "$ecret"`), and so is a token of
//! letters only: missing these is the price for leaving code alone.

use super::names::{Class, is_in};

/// The place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Between quotes, or between the tags of an element.
    Quoted,
    /// After the name in a list of strings or as the argument of a call, where names and values look alike.
    Listed,
    /// The value of an environment variable. Upper-case names are rarely used for anything but values.
    Variable,
    /// Bare, where the syntax uses bare values: YAML, a flag, a query, a connection string.
    Bare,
    /// In a table or an element, beside or below its name. Labels and descriptions occur there, too.
    Cell,
    /// Bare, where code or prose is just as likely.
    Loose,
}

/// Whether the value is a secret.
pub(super) fn is_secret(class: Class, place: Place, value: &str) -> bool {
    let stands_in = match class {
        Class::Password | Class::Secret => stands_in_for(value, is_strong),
        _ => is_placeholder(value),
    };
    if stands_in || is_location(value) {
        return false;
    }
    let traits = Traits::of(value);
    let is_word = !traits.spaces && !is_code(value, &traits);
    match (class, place) {
        (Class::Password | Class::Secret, Place::Quoted) => is_chosen(value, &traits),
        (Class::Password | Class::Secret, Place::Listed) => {
            let is_name = traits.lower == 0 || value.contains(['-', '_']) && is_numbered_words(value);
            value.len() >= 6
                && !is_name
                && is_word
                && (traits.digits + traits.symbols > 0 || is_jumbled(value, &traits))
                && is_chosen(value, &traits)
        }
        (Class::Password | Class::Secret, Place::Bare)
        | (Class::Password | Class::Secret | Class::Token | Class::Key, Place::Variable) => {
            is_word && is_chosen(value, &traits)
        }
        (Class::Password | Class::Secret, Place::Cell) => {
            is_word
                && (traits.digits > 0 || has_marks(value) || is_jumbled(value, &traits))
                && is_chosen(value, &traits)
                && (class == Class::Password || is_made(value, &traits))
        }
        (Class::Password, Place::Loose) => {
            value.len() >= 6
                && is_word
                && (traits.digits > 0 || has_marks(value) || is_jumbled(value, &traits))
                && traits.letters > 0
                && is_chosen(value, &traits)
        }
        (Class::Token | Class::Key, Place::Quoted) => !traits.spaces && is_made(value, &traits),
        (Class::Token | Class::Key, Place::Bare) => is_word && is_made(value, &traits),
        (Class::Token | Class::Key, Place::Cell) => value.len() >= 12 && is_word && is_made(value, &traits),
        (Class::Token | Class::Key, Place::Listed) => is_random(value),
        (Class::Secret | Class::Token | Class::Key, Place::Loose) => is_word && is_random(value),
        (Class::Unknown, _) => value.len() >= 20 && is_random(value),
        (Class::Login, _) => is_login(value),
        (Class::Authorization | Class::Cookie, _) => {
            traits.digits > 0 && traits.letters > 0 && value.len() >= 8
        }
    }
}

/// Statistics about the bytes of a value.
#[derive(Debug, Default)]
struct Traits {
    letters: usize,
    lower: usize,
    upper: usize,
    digits: usize,
    /// Bytes that occur neither in words nor between the words of a name.
    symbols: usize,
    spaces: bool,
    /// Number of changes between upper case, lower case and digits.
    turns: usize,
    /// Number of letters in runs of at least three lower-case letters.
    in_words: usize,
}

impl Traits {
    fn of(value: &str) -> Self {
        let mut traits = Self::default();
        let mut previous = None;
        let mut row = 0;
        for byte in value.bytes() {
            row = if byte.is_ascii_lowercase() { row + 1 } else { 0 };
            traits.in_words += match row {
                0..=2 => 0,
                3 => 3,
                _ => 1,
            };
            let case = (byte.is_ascii_digit(), byte.is_ascii_uppercase());
            if byte.is_ascii_alphanumeric() {
                traits.turns += usize::from(previous.is_some_and(|previous| previous != case));
                previous = Some(case);
            }
            match byte {
                b'a'..=b'z' => traits.lower += 1,
                b'A'..=b'Z' => traits.upper += 1,
                b'0'..=b'9' => traits.digits += 1,
                b' ' | b'\t' => traits.spaces = true,
                b'_' | b'-' | b'.' => {}
                _ => traits.symbols += 1,
            }
        }
        traits.letters = traits.lower + traits.upper;
        traits
    }
}

/// Whether a value without digits has marks that are typical of passwords, and not of words, addresses and code.
fn has_marks(value: &str) -> bool {
    let inside = value.trim_end_matches(['!', '?']);
    let traits = Traits::of(value);
    inside.contains(['!', '#', '^', '~'])
        || inside.contains('@') && !inside.contains('.')
        || value.contains(['%', '$', '!']) && traits.upper > 0 && traits.turns >= 4
}

/// Whether a person may have chosen the value.
fn is_chosen(value: &str, traits: &Traits) -> bool {
    if value.len() < 4 || is_common(value) {
        return false;
    }
    if traits.spaces {
        return is_passphrase(value);
    }
    if traits.digits > 0 || traits.symbols > 0 {
        return !is_type(value);
    }
    if is_jumbled(value, traits) {
        return true;
    }
    // Letters only. A value spelled like a name in code is a name; a plain word is a weak password.
    let separated = value.contains(['_', '.']);
    let shouted = traits.lower == 0;
    let humped = value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    !separated && !shouted && !humped
}

/// Whether letters change case as in random values and not as in names of code, or follow each other as in no word.
fn is_jumbled(value: &str, traits: &Traits) -> bool {
    let is_mixed = traits.turns * 3 >= value.len() && traits.in_words * 2 < value.len();
    traits.letters == value.len()
        && value.len() >= 8
        && traits.lower > 0
        && traits.upper > 1
        && (is_mixed || is_unspeakable(value))
}

/// The letters that commonly follow each letter from `a` to `z` in words and in names of code.
const FOLLOWERS: &str = "bcdefgiklmnprstuvwy aelosuy aehklortu abdeiorsuy abcdefgilmnpqrstvwxy aefinorstu ehiorsu aeiot \
    acdefglmnoprstvxz eos eins adefilostuy abeimopsu acdefgiklnostuwy bcdfgijklmnoprstuvw aeiloprstu u \
    acdegiklmnorstuvy acehikopstuwy acdehiloprstuy bcdegilmnprst aei aehinors t pst e";

/// Whether fewer than two in three letter pairs occur in words. In words nearly all do, in random values one in
/// three.
fn is_unspeakable(value: &str) -> bool {
    let (mut pairs, mut known) = (0, 0);
    for two in value.as_bytes().windows(2) {
        // At a hump in a name, one word ends and another begins.
        if two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase() {
            continue;
        }
        let first = usize::from(two[0].to_ascii_lowercase().wrapping_sub(b'a'));
        let follows = FOLLOWERS.split(' ').nth(first).unwrap_or_default();
        pairs += 1;
        known += usize::from(follows.as_bytes().contains(&two[1].to_ascii_lowercase()));
    }
    pairs >= 6 && known * 3 < pairs * 2
}

/// Whether a value is a series of words, without those that occur in sentences such as labels and messages.
fn is_passphrase(value: &str) -> bool {
    let is_of_words = value
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b" -'".contains(&byte));
    let is_mixed =
        value.contains(char::is_numeric) && value.contains(['!', '@', '#', '$', '%', '^', '&', '*']);
    let mut words = value.split_ascii_whitespace();
    (is_of_words || is_mixed)
        && words.clone().count() <= 12
        && !words.any(|word| is_in(SENTENCE_WORDS, word) || is_of_words && is_common(word))
}

/// Whether a machine may have made the value.
fn is_made(value: &str, traits: &Traits) -> bool {
    if value.len() < 6 || is_common(value) || is_type(value) {
        return false;
    }
    if !value.bytes().all(|byte| super::is_token(byte) || b":|@!$&#^".contains(&byte)) {
        return false;
    }
    if traits.letters == 0 {
        return traits.digits >= 8 && traits.symbols == 0;
    }
    if traits.digits > 0 {
        return !is_numbered_words(value);
    }
    // Letters only, or nearly so: a word or a name of words, unless the case changes all the time.
    let is_unbroken = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    traits.symbols > 0 && value.len() >= 8 && !value.contains([':', '|'])
        || is_unbroken && value.len() >= 24 && traits.turns * 20 >= value.len() * 9
}

/// Whether a value is long and mixed enough to be a secret under any name. Upper case, lower case and digits
/// alternate much more often in random values than in words, and in names such as `Ed25519PrivateKey` most letters
/// belong to words.
pub(super) fn is_random(value: &str) -> bool {
    value.len() >= 16
        && is_mixed(value, &Traits::of(value))
        && value.bytes().all(super::is_token)
        && !is_numbered_words(value)
        && !is_placeholder(value)
        && !is_location(value)
}

/// Whether letters and digits alternate as in random values.
fn is_mixed(value: &str, traits: &Traits) -> bool {
    traits.digits > 0
        && traits.letters > 0
        && traits.turns * 5 >= value.len()
        && !(traits.upper > 0 && traits.in_words * 2 >= value.len() && !is_scattered(value, traits))
}

/// Whether digits are scattered over a value that contains words by chance.
fn is_scattered(value: &str, traits: &Traits) -> bool {
    let groups =
        value.as_bytes().windows(2).filter(|two| two[0].is_ascii_digit() && !two[1].is_ascii_digit()).count();
    value.len() >= 24 && groups >= 4 && traits.turns * 3 >= value.len()
}

/// Words with numbers between or after them: `oauth-2`, `utf8`, `my-service-2024`, `token1`.
fn is_numbered_words(value: &str) -> bool {
    value.split(['-', '_', '.', '/', ' ']).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - word.len();
        word.bytes().all(|byte| byte.is_ascii_alphabetic()) && (digits <= 2 || word.is_empty() && digits <= 4)
    })
}

/// Whether a value is a type or an algorithm with digits in its name.
fn is_type(value: &str) -> bool {
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
    if word.len() == value.len() || !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    is_in(TYPES_WITH_DIGITS, &word.to_ascii_lowercase())
}

/// Whether a bare value is an expression: a call, a field, a module path, the name of a type or variable.
fn is_code(value: &str, traits: &Traits) -> bool {
    let first = value.as_bytes()[0];
    let last = value.as_bytes()[value.len() - 1];
    if b"([{<\\\"'`,;:=>.-".contains(&first) || b"({[<\\,;".contains(&last) {
        return true;
    }
    if last == b')' && !value.contains('(') {
        return true;
    }
    // A pointer, a reference, a YAML tag.
    let bare = value.trim_start_matches(['&', '*', '!', '@', '|']);
    if bare.len() < value.len() && traits.digits == 0 && is_path(bare) {
        return true;
    }
    if value.contains("::") || value.contains("->") || value.contains("()") || value.contains("=>") {
        return true;
    }
    // A call, a macro, an index, a list or a generic type: an opening bracket, alone or right after a name.
    if let Some(bracket) = bare.find(['(', '[', '{', '<'])
        && (bracket == 0 || is_path(bare[..bracket].trim_end_matches('!')))
    {
        return true;
    }
    // A field of something: `config.secret`, `self.token2`.
    if value.contains('.') && is_path(value) && value.split('.').all(|part| (1..=24).contains(&part.len())) {
        return traits.digits == 0 || value.split('.').all(is_numbered_words);
    }
    false
}

/// Whether a value consists of names separated by dots.
fn is_path(value: &str) -> bool {
    !value.is_empty()
        && value.split(['.', ':']).all(|part| {
            part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$')
                && part.bytes().next().is_none_or(|first| !first.is_ascii_digit())
        })
}

/// `user:password` in base64.
fn is_login(value: &str) -> bool {
    let body = value.trim_end_matches('=');
    let mut bits: u32 = 0;
    let mut bytes = Vec::with_capacity(body.len());
    for (count, letter) in body.bytes().enumerate() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(six);
        // Three of four characters complete a byte.
        let left = [6, 4, 2, 0][count % 4];
        if count % 4 > 0 {
            bytes.push((bits >> left).to_le_bytes()[0]);
        }
    }
    bytes.len() >= 3 && bytes.contains(&b':') && bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a value is a placeholder: a variable, a template, a mask, or a hint to fill something in.
pub(super) fn is_placeholder(value: &str) -> bool {
    stands_in_for(value, |rest| rest.len() >= 20 && is_mixed(rest, &Traits::of(rest)))
}

/// Whether a value is a variable, a template, a mask or a hint. A value that only contains a piece of these is a
/// secret if the rest of it is one: `Kx%s93!q`, `Your-tr33house!`.
fn stands_in_for(value: &str, is_secret: impl Fn(&str) -> bool) -> bool {
    let value = value.trim();
    if value.is_empty() || is_variable(value) || is_template(value) || is_mask(value) {
        return true;
    }
    without_fillers(value).is_some_and(|rest| !is_secret(&rest))
}

/// `$TOKEN`, `${TOKEN}`, `%TOKEN%`, `:token`, `<token>`, `[token]`, `{token}`.
fn is_variable(value: &str) -> bool {
    let bytes = value.as_bytes();
    match (bytes[0], bytes[bytes.len() - 1]) {
        (b'<', b'>') | (b'[', b']') | (b'{', b'}') => true,
        (b'@', b'@') => is_plain(&value[1..]),
        (b'$' | b'%' | b':', _) => {
            bytes.len() < 3
                || is_plain(value[1..].trim_matches(['{', '}', '(', ')', '%'])) && !is_leet(&value[1..])
        }
        _ => false,
    }
}

/// Whether a name has digits like a password: `$uper5ecret`, `$ummer2024`, `$ecretPa55`. Variables have at most two,
/// at the end of a word.
fn is_leet(name: &str) -> bool {
    let within = name.as_bytes().windows(2).any(|two| two[0].is_ascii_digit() && two[1].is_ascii_lowercase());
    let traits = Traits::of(name);
    within
        || traits.digits > 0 && traits.upper > 0 && traits.lower > 0
        || name.bytes().rev().take_while(u8::is_ascii_digit).count() > 2
}

/// Whether a string is assembled at run time.
fn is_template(value: &str) -> bool {
    if ["${", "#{", "{{", "$(", "<%", "{}", "\" +", "' +"].iter().any(|part| value.contains(part)) {
        return true;
    }
    let Some(open) = value.find('{') else { return false };
    let Some(length) = value[open..].find('}') else { return false };
    is_plain(value[open + 1..open + length].trim_matches(['!', '?', '#', '<', '>']))
}

fn is_mask(value: &str) -> bool {
    value.chars().all(|c| "*xX.-_?#0\u{2022}\u{2026}".contains(c))
}

/// The value without the pieces that placeholders are made of; `None` if it has no such piece.
fn without_fillers(value: &str) -> Option<String> {
    const FILLERS: [&str; 14] = [
        "%s",
        "%v",
        "%d",
        "...",
        "\u{2026}",
        "***",
        "xxxx",
        "placeholder",
        "changeme",
        "change_me",
        "change-me",
        "change_this",
        "change-this",
        "example",
    ];
    const FIRST_WORDS: [&str; 8] = ["your", "insert", "enter", "replace", "todo", "fixme", "dummy", "fake"];
    let lower = value.to_ascii_lowercase();
    let first_word = lower.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    let advice = FIRST_WORDS.contains(&first_word).then_some(first_word.len());
    if advice.is_none() && !FILLERS.iter().any(|filler| lower.contains(filler)) {
        return None;
    }
    let mut rest = String::with_capacity(value.len());
    let mut at = advice.unwrap_or(0);
    while let Some(next) = lower[at..].chars().next() {
        if let Some(filler) = FILLERS.iter().find(|filler| lower[at..].starts_with(**filler)) {
            at += filler.len();
            // A mask may have any length.
            let masked = filler.bytes().last().unwrap_or(0);
            if b".*x".contains(&masked) {
                at += lower.as_bytes()[at..].iter().take_while(|byte| **byte == masked).count();
            }
        } else {
            rest.push_str(&value[at..at + next.len_utf8()]);
            at += next.len_utf8();
        }
    }
    Some(rest)
}

/// Whether the rest of an apparent placeholder is more than a password's name with a number.
fn is_strong(rest: &str) -> bool {
    let traits = Traits::of(rest);
    if traits.spaces || is_template(rest) {
        return false;
    }
    let marks = rest.bytes().filter(|byte| b"!@#$%^&*+~?".contains(byte)).count();
    let names_itself = rest.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
        matches!(word.to_ascii_lowercase().as_str(), "key" | "here" | "value" | "id") || is_common(word)
    });
    // `Your-Horse-Battery`
    let is_titled = matches!(rest.as_bytes(), [b'-', b'A'..=b'Z', ..]) && traits.lower > 0;
    is_titled && rest.len() >= 8 && !names_itself
        || traits.digits > 0 && marks > 0 && rest.len() >= 4
        || traits.digits > 0 && traits.letters > 1 && rest.len() >= 5 && !names_itself
        || marks > 0 && traits.letters > 3 && rest.len() >= 6 && !names_itself
}

/// Whether a text has only characters that occur in names, indices and formats.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| super::is_word(byte) || b".: []'\"".contains(&byte))
}

/// Whether a value is the location or the name of a secret: URLs, paths of files and modules, dotted names, labels.
fn is_location(value: &str) -> bool {
    if value.contains("://") || value.contains("::") || value.ends_with([':', '?']) {
        return true;
    }
    // A version, an address, a colour.
    let is_number = value.contains('.') && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_colour = value.strip_prefix('#').is_some_and(|hex| {
        matches!(hex.len(), 3 | 4 | 6 | 8) && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    if is_number || is_colour {
        return true;
    }
    let is_name =
        |part: &str| part.bytes().all(super::is_word) && !part.bytes().any(|byte| byte.is_ascii_digit());
    if value.starts_with(['/', '~']) || value.starts_with("./") || value.starts_with("../") {
        let plain = value.bytes().all(|byte| super::is_word(byte) || b"./~ ".contains(&byte));
        // Base64 may begin with a slash. A path consists of words.
        let traits = Traits::of(value);
        let is_random = value.len() >= 20 && traits.upper > 0 && is_mixed(value, &traits);
        return plain && !is_random && (value[1..].contains(['/', '.']) || is_name(&value[1..]));
    }
    value.contains(['.', '/', '\\'])
        && value.split(['.', '/', '\\']).all(|part| !part.is_empty() && is_name(part))
}

fn is_common(value: &str) -> bool {
    is_in(COMMON, &value.to_ascii_lowercase())
}

/// Types, variables and labels that occur in place of a value.
const COMMON: &str = "\
    any api-key api_key apikey args array async await bar basic baz bearer body bool boolean buffer \
    bytes char compat config const context credentials data date default disabled email empty \
    enabled encrypted false field file files fixed float foo foobar form func function getpass hash \
    header hidden hide identifier include inherit input int integer invalid issuer json key keys \
    label lambda line list literal login long masked match missing name never new nil none null \
    number object off omit option optional options params pass passphrase passwd password passwords \
    plain plaintext private prompt pwd random read redacted req request required res result return \
    same-origin secret secrets self session settings show some static str string strings struct \
    symbol systemd test testing text this token tokens true type undefined unknown unset user \
    userdata username value values varchar void with word write wrong yes";

const SENTENCE_WORDS: &str = "\
    a an and are as at be by can do does enter for from has if in is it may must not of on or \
    please should that the this to too use used was when will with you your";

const TYPES_WITH_DIGITS: &str = "\
    aes argon ascii base blake ed ed25519 es f float hs http i int ipv iso latin md oauth p ps rfc \
    rs rsa s sha socks ssl tls u uint utf uuid v vec x x509";
