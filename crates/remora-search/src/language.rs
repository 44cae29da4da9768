//! Detects the language of a prompt cheaply: by its script and by its stop words.
//!
//! English, French, German and Spanish have a list of stop words each, and the last three a table of endings. Scripts
//! without spaces have stop words that are matched inside a run of letters. Words of any other language are searched
//! as they are written.

use remora_core::text::{is_unspaced, prefix};

use crate::words::{fold, spans};

/// Number of bytes that are examined. The beginning of a text reveals its language.
const BEGINNING: usize = 400;
/// Weight of a letter of a script without spaces against other letters. Such texts contain many Latin names and
/// commands.
const LATIN_FOR_EACH: usize = 4;
/// Minimum length of a root. Words up to this length have no root: they are too ambiguous.
const MIN_ROOT_LEN: usize = 4;
/// Maximum length of an ending. A longer rest means another word, except in compounds.
const MAX_ENDING_LEN: usize = 7;
/// Minimum length of a root that is also matched inside and at the end of German compounds.
const MIN_LEN_IN_COMPOUND: usize = 6;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    French,
    German,
    Spanish,
    /// Chinese, Japanese, Korean, Thai, …
    Unspaced,
    /// Another script with spaces, such as Cyrillic, Arabic or Devanagari.
    Other,
}

/// The common beginning of all forms of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) text: String,
    /// Whether compounds match: in German a word is often part of a longer one.
    in_compounds: bool,
}

impl Language {
    const SPACED: [Self; 4] = [Self::English, Self::French, Self::German, Self::Spanish];

    /// Detects the language of a text. Defaults to English, the language of names, commands and logs.
    pub fn of(text: &str) -> Self {
        let text = prefix(text, BEGINNING);
        if !text.is_ascii()
            && let Some(language) = Self::of_script(text)
        {
            return language;
        }
        let mut counts = [0_usize; Self::SPACED.len()];
        for (start, end) in spans(text) {
            let word = fold(&text[start..end]);
            for (count, language) in counts.iter_mut().zip(Self::SPACED) {
                *count += usize::from(language.has_stop_word(&word));
            }
        }
        if !text.is_ascii() {
            for (count, language) in counts.iter_mut().zip(Self::SPACED) {
                *count += usize::from(text.contains(language.letters()));
            }
        }
        // The first of those with the highest count, so English in doubt.
        let most = counts.iter().copied().max().unwrap_or_default();
        let first = counts.iter().position(|count| *count == most).unwrap_or_default();
        Self::SPACED[first]
    }

    /// Decides by script alone, if it is not Latin.
    fn of_script(text: &str) -> Option<Self> {
        let (mut unspaced, mut latin, mut other) = (0, 0, 0);
        for character in text.chars().filter(|character| character.is_alphabetic()) {
            match character {
                _ if is_unspaced(character) => unspaced += 1,
                '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => latin += 1,
                _ => other += 1,
            }
        }
        if unspaced * LATIN_FOR_EACH > latin + other {
            Some(Self::Unspaced)
        } else {
            (other > latin).then_some(Self::Other)
        }
    }

    /// Letters and marks that the other languages here do not have.
    fn letters(self) -> &'static [char] {
        match self {
            Self::French => &['ç', 'œ', 'è', 'ê', 'à', 'ù', 'û', 'î', 'ô', 'â', 'É', 'Ê', 'À', 'Ç'],
            Self::German => &['ä', 'ö', 'ü', 'ß', 'Ä', 'Ö', 'Ü'],
            Self::Spanish => &['ñ', '¿', '¡', 'í', 'ó', 'á', 'ú'],
            Self::English | Self::Unspaced | Self::Other => &[],
        }
    }

    /// Whether a folded word is noise in a query. Code is English everywhere, so English stop words always count.
    pub(crate) fn is_stop_word(self, word: &str) -> bool {
        Self::English.has_stop_word(word) || self.has_stop_word(word)
    }

    fn has_stop_word(self, word: &str) -> bool {
        self.stop_words().binary_search(&word).is_ok()
    }

    fn stop_words(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH,
            Self::French => FRENCH,
            Self::German => GERMAN,
            Self::Spanish => SPANISH,
            Self::Unspaced | Self::Other => &[],
        }
    }

    /// The root of a folded word, for languages whose endings the index does not stem. `None` for English: the index
    /// stems it.
    pub(crate) fn root(self, word: &str) -> Option<Root> {
        let endings = match self {
            Self::French => FRENCH_ENDINGS,
            Self::German => GERMAN_ENDINGS,
            Self::Spanish => SPANISH_ENDINGS,
            Self::English | Self::Unspaced | Self::Other => return None,
        };
        if word.len() <= MIN_ROOT_LEN || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
        let is_german = self == Self::German;
        // A participle: `gelöscht` is of `löschen`.
        let word = match word.strip_prefix("ge") {
            Some(rest) if is_german && word.ends_with(['t', 'n']) && rest.len() > MIN_ROOT_LEN => rest,
            _ => word,
        };
        let mut roots = endings.iter().filter_map(|ending| word.strip_suffix(*ending));
        let mut root = roots.find(|root| root.len() >= MIN_ROOT_LEN).unwrap_or(word);
        // `déploie` and `déployer`, `envía` and `enviar`.
        if root.len() > MIN_ROOT_LEN && !is_german {
            root = root.strip_suffix(['i', 'y']).unwrap_or(root);
        }
        Some(Root { text: root.to_owned(), in_compounds: is_german })
    }
}

impl Root {
    /// Whether a folded word is a form of this root.
    pub(crate) fn is_of(&self, word: &str) -> bool {
        if let Some(ending) = word.strip_prefix(self.text.as_str()) {
            return self.in_compounds || ending.len() <= MAX_ENDING_LEN;
        }
        if !self.in_compounds {
            return false;
        }
        word.strip_prefix("ge").is_some_and(|rest| rest.starts_with(&self.text))
            || (self.text.len() >= MIN_LEN_IN_COMPOUND && word.contains(&self.text))
    }

    pub(crate) fn is_in_compounds(&self) -> bool {
        self.in_compounds
    }

    /// The prefixes to look up in the index.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = String> {
        let participle = self.in_compounds.then(|| format!("ge{}", self.text));
        [self.text.clone()].into_iter().chain(participle)
    }
}

/// The pieces of a run of letters without spaces that remain after its stop words are removed.
pub(crate) fn content(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        rest = &rest[leading_stop_words(rest)..];
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().map(|(at, _)| at).find(|&at| stop_word(&rest[at..]) > 0);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

fn leading_stop_words(text: &str) -> usize {
    let mut length = 0;
    while let more @ 1.. = stop_word(&text[length..]) {
        length += more;
    }
    length
}

/// The length in bytes of the longest stop word at the start of a text; 0 if there is none.
fn stop_word(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    // Hiragana: particles and endings of Japanese. Words are made of kanji and katakana.
    if matches!(first, '\u{3041}'..='\u{309f}') {
        return first.len_utf8();
    }
    let from = UNSPACED.partition_point(|word| word.chars().next() < Some(first));
    let own = UNSPACED[from..].iter().take_while(|word| word.starts_with(first));
    own.filter(|word| text.starts_with(**word)).map(|word| word.len()).max().unwrap_or_default()
}

/// Endings. Longer ones come before those they end with.
#[rustfmt::skip]
const FRENCH_ENDINGS: &[&str] = &[
    "issements", "issement", "ements", "ations", "ateurs", "ement", "ation", "ateur", "aient", "erait", "antes", "ances",
    "ences", "euses", "ante", "ants", "ance", "ence", "eurs", "euse", "ions", "ees", "ent", "ant", "ait", "ais", "eur",
    "era", "ion", "aux", "ee", "al", "es", "er", "ez", "ir", "e", "s", "x",
];
#[rustfmt::skip]
const GERMAN_ENDINGS: &[&str] = &[
    "ierung", "heiten", "keiten", "lichen", "ischen", "ieren", "iert", "ungen", "heit", "keit", "liche", "ische", "erten",
    "enden", "lich", "isch", "ung", "ten", "ern", "end", "est", "te", "em", "en", "er", "es", "et", "e", "n", "s", "t",
];
#[rustfmt::skip]
const SPANISH_ENDINGS: &[&str] = &[
    "amientos", "imientos", "amiento", "imiento", "aciones", "adores", "iciones", "uciones", "iendo", "ieron", "acion",
    "iones", "adora", "mente", "ador", "ando", "adas", "ados", "idas", "idos", "aron", "aban", "ion", "aba", "ada", "ado",
    "ida", "ido", "ian", "ar", "er", "ir", "an", "en", "es", "as", "os", "ia", "io", "a", "e", "o", "s",
];

/// Stop words, folded and sorted: pronouns, prepositions, conjunctions, auxiliaries, question words, courtesies.
#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "a", "about", "actually", "after", "again", "all", "already", "also", "always", "am", "an", "and", "any", "are",
    "as", "at", "be", "because", "been", "before", "being", "between", "both", "but", "by", "can", "could", "d",
    "did", "do", "does", "doing", "done", "during", "each", "even", "ever", "few", "for", "from", "further", "get",
    "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "instead",
    "into", "is", "it", "its", "itself", "just", "ll", "m", "many", "may", "maybe", "me", "might", "more", "most",
    "much", "must", "my", "never", "no", "nor", "not", "now", "of", "off", "often", "on", "once", "only", "or",
    "other", "our", "ours", "out", "over", "own", "perhaps", "please", "re", "really", "s", "same", "shall", "she",
    "should", "so", "some", "still", "such", "t", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "we",
    "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "yet",
    "you", "your", "yours",
];
#[rustfmt::skip]
const FRENCH: &[&str] = &[
    "a", "afin", "ai", "aie", "ait", "alors", "apres", "as", "assez", "au", "aucun", "aucune", "aujourd", "aura",
    "aurait", "aussi", "autant", "autre", "autres", "aux", "avais", "avait", "avant", "avec", "avoir", "avons",
    "ayant", "beaucoup", "bien", "bonjour", "c", "ca", "car", "ce", "ceci", "cela", "celle", "celles", "celui", "ces",
    "cet", "cette", "ceux", "chaque", "chez", "ci", "comme", "comment", "d", "dans", "de", "deja", "depuis", "des",
    "desquels", "dessous", "dessus", "deux", "devait", "devant", "devrait", "dit", "dois", "doit", "doivent", "donc",
    "dont", "du", "durant", "elle", "elles", "en", "encore", "ensuite", "entre", "es", "est", "et", "etaient",
    "etais", "etait", "etant", "ete", "etre", "eu", "eux", "faire", "fais", "fait", "faites", "fallait", "faudrait",
    "faut", "font", "hier", "hors", "ici", "il", "ils", "j", "jamais", "je", "jusqu", "juste", "l", "la", "laquelle",
    "le", "lequel", "les", "lesquels", "leur", "leurs", "lors", "lorsque", "lui", "m", "ma", "maintenant", "mais",
    "me", "meme", "memes", "merci", "mes", "mettre", "moi", "moins", "mon", "n", "ne", "ni", "nos", "notre", "nous",
    "on", "ont", "ou", "par", "parce", "parfois", "pas", "pendant", "peu", "peut", "peuvent", "peux", "plus",
    "plusieurs", "plutot", "pour", "pourquoi", "pourrait", "pourtant", "pouvez", "pouvoir", "pres", "presque", "pu",
    "puis", "puisque", "qu", "quand", "que", "quel", "quelle", "quelles", "quelque", "quelques", "quels", "qui",
    "quoi", "quoique", "s", "sa", "sans", "se", "sera", "serait", "ses", "seulement", "si", "sinon", "soit", "son",
    "sont", "sous", "souvent", "stp", "suis", "sur", "svp", "t", "ta", "tandis", "te", "tel", "telle", "tellement",
    "tels", "tes", "toi", "ton", "toujours", "tous", "tout", "toute", "toutes", "tres", "trop", "tu", "un", "une",
    "va", "vas", "vers", "veut", "veux", "voici", "voila", "voir", "vos", "votre", "voudrais", "vous", "vraiment",
    "y",
];
#[rustfmt::skip]
const GERMAN: &[&str] = &[
    "ab", "aber", "alle", "allem", "allen", "aller", "alles", "als", "also", "am", "an", "andere", "anderen",
    "anderer", "anderes", "auch", "auf", "aus", "außer", "bei", "beim", "bereits", "bevor", "bin", "bis", "bisher",
    "bist", "bitte", "da", "dabei", "dadurch", "dafur", "dagegen", "daher", "damit", "danach", "danke", "dann",
    "daran", "darauf", "daraus", "darf", "darin", "daruber", "darum", "das", "dass", "davon", "davor", "dazu", "dein",
    "deine", "dem", "den", "denn", "der", "deren", "des", "deshalb", "dessen", "die", "dies", "diese", "diesem",
    "diesen", "dieser", "dieses", "doch", "dort", "du", "durch", "durfen", "eben", "eigentlich", "ein", "eine",
    "einem", "einen", "einer", "eines", "einfach", "einmal", "er", "erst", "es", "etwa", "etwas", "euch", "euer",
    "eure", "fur", "ganz", "gar", "gegen", "genau", "gerade", "gern", "gibt", "habe", "haben", "hallo", "hat",
    "hatte", "hatten", "hier", "hin", "hinter", "ich", "ihm", "ihn", "ihnen", "ihr", "ihre", "ihrem", "ihren",
    "ihrer", "im", "immer", "in", "indem", "ins", "ist", "ja", "je", "jede", "jedem", "jeden", "jeder", "jedes",
    "jemand", "jene", "jetzt", "kann", "kannst", "kein", "keine", "keinem", "keinen", "keiner", "konnen", "konnte",
    "konnten", "mal", "man", "manche", "mehr", "mein", "meine", "meinem", "meinen", "meiner", "mich", "mir", "mit",
    "mochte", "muss", "mussen", "musste", "nach", "nachdem", "nein", "neu", "nicht", "nichts", "nie", "niemand",
    "noch", "nun", "nur", "ob", "obwohl", "oder", "ohne", "schon", "sehr", "sei", "seid", "sein", "seine", "seinem",
    "seinen", "seiner", "seit", "sich", "sie", "sind", "so", "sobald", "solche", "soll", "sollen", "sollte",
    "sollten", "sondern", "sonst", "sowie", "stets", "trotz", "trotzdem", "uber", "um", "und", "uns", "unser",
    "unsere", "unserem", "unseren", "unserer", "unter", "viel", "viele", "vielleicht", "vom", "von", "vor", "wahrend",
    "wann", "war", "waren", "warum", "was", "weder", "weg", "wegen", "weil", "welche", "welchem", "welchen",
    "welcher", "welches", "wem", "wen", "wenig", "wenn", "wer", "werde", "werden", "weshalb", "weswegen", "wie",
    "wieder", "wieso", "will", "willst", "wir", "wird", "wirklich", "wirst", "wo", "wobei", "wodurch", "wofur",
    "woher", "wohin", "wollen", "wollte", "womit", "woran", "worauf", "worden", "wurde", "wurden", "zu", "zum", "zur",
    "zwar", "zwischen",
];
#[rustfmt::skip]
const SPANISH: &[&str] = &[
    "a", "acerca", "ademas", "ahi", "ahora", "al", "algo", "algun", "alguna", "algunas", "alguno", "algunos", "alli",
    "ante", "antes", "aquel", "aquella", "aqui", "asi", "aun", "aunque", "bajo", "bastante", "bien", "cada", "casi",
    "como", "con", "contra", "cosa", "creo", "cual", "cuales", "cualquier", "cuando", "cuanta", "cuantas", "cuanto",
    "cuantos", "cuyo", "da", "de", "debe", "deben", "deberia", "debo", "del", "demas", "demasiado", "dentro", "desde",
    "despues", "dia", "donde", "dos", "durante", "e", "el", "ella", "ellas", "ellos", "en", "entonces", "entre",
    "era", "eran", "eres", "es", "esa", "esas", "ese", "eso", "esos", "esta", "estaba", "estaban", "estan", "estar",
    "estas", "este", "esto", "estos", "estoy", "favor", "fue", "fuera", "fueron", "gracias", "ha", "habia", "hace",
    "hacemos", "hacen", "hacer", "haces", "hacia", "hago", "han", "has", "hasta", "hay", "haya", "haz", "he", "hemos",
    "hizo", "hola", "hoy", "igual", "incluso", "jamas", "junto", "la", "las", "le", "les", "lo", "los", "luego",
    "mas", "me", "mi", "mia", "mientras", "mio", "mis", "misma", "mismas", "mismo", "mismos", "mucha", "muchas",
    "mucho", "muchos", "muy", "nada", "ni", "ningun", "ninguna", "no", "nos", "nosotros", "nuestra", "nuestras",
    "nuestro", "nuestros", "nunca", "o", "os", "otra", "otras", "otro", "otros", "para", "pero", "poco", "podemos",
    "podria", "podrias", "por", "porque", "pronto", "pudo", "puede", "pueden", "puedes", "puedo", "pues", "que",
    "quien", "quienes", "quiere", "quiero", "quizas", "se", "sea", "segun", "ser", "si", "sido", "siempre", "sin",
    "sino", "sobre", "sois", "solamente", "solo", "somos", "son", "soy", "su", "sus", "tambien", "tampoco", "tan",
    "tanta", "tanto", "te", "tendria", "tenemos", "tener", "tengo", "tiene", "tienen", "tienes", "toda", "todas",
    "todavia", "todo", "todos", "tras", "tu", "tus", "u", "un", "una", "unas", "uno", "unos", "usted", "ustedes",
    "va", "vamos", "van", "vez", "voy", "y", "ya", "yo",
];
/// Chinese stop words, which are matched inside a run of letters. A single character is listed only if it is rarely
/// part of another word.
#[rustfmt::skip]
const UNSPACED: &[&str] = &[
    "一下", "一个", "一些", "一次", "一点", "一直", "上面", "下面", "不是", "不过", "与", "为什么", "为何", "么",
    "之", "之前", "之后", "也", "了", "什么", "什么时候", "他", "他们", "以前", "以及", "以后", "们", "任何",
    "会不会", "但是", "何时", "你", "你们", "关于", "其中", "其他", "再", "几个", "刚才", "又", "及", "只是", "可以",
    "可能", "吗", "吧", "呀", "呢", "和", "哦", "哪", "哪个", "哪些", "哪儿", "哪里", "啊", "嘛", "因为", "在",
    "多少", "她", "好的", "如何", "如果", "它", "对于", "就", "就是", "已经", "希望", "帮忙", "帮我", "应该", "很",
    "必须", "怎么", "怎么办", "怎么样", "怎样", "总是", "您", "想要", "我", "我们", "或", "或者", "所以", "所有",
    "把", "时候", "是", "是不是", "有没有", "每个", "没有", "然后", "现在", "由于", "的", "目前", "给", "继续", "而",
    "而且", "能不能", "能够", "自己", "虽然", "被", "要不要", "让", "请", "谢谢", "还", "还是", "这", "这个", "这些",
    "这样", "这里", "进行", "通过", "那", "那个", "那些", "那样", "那里", "都", "里面", "需要", "麻烦",
];

/// Chinese characters that join words without being one. A pair with one of them counts as a word only if the memory
/// contains the pair, too.
const JOINTS: &[char] = &[
    '会', '要', '能', '不', '没', '有', '到', '从', '对', '用', '时', '上', '下', '来', '去', '过', '得',
    '着',
];

/// Whether two characters of a run may belong to two different words.
pub(crate) fn has_joint(pair: &str) -> bool {
    pair.contains(JOINTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_and_folded() {
        for list in [ENGLISH, FRENCH, GERMAN, SPANISH] {
            assert!(list.is_sorted_by(|a, b| a < b));
            assert!(list.iter().all(|word| fold(word) == *word));
        }
        assert!(UNSPACED.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn endings_come_longest_first() {
        for endings in [FRENCH_ENDINGS, GERMAN_ENDINGS, SPANISH_ENDINGS] {
            for (place, ending) in endings.iter().enumerate() {
                let hidden = endings[..place].iter().find(|earlier| ending.ends_with(**earlier));
                assert_eq!(hidden, None, "{ending} never applies");
            }
        }
    }

    #[test]
    fn the_language_of_a_prompt_is_detected() {
        for (text, language) in [
            ("why does the daemon die after the update", Language::English),
            ("cargo nextest run", Language::English),
            ("", Language::English),
            ("fix the naïve café test", Language::English),
            ("pourquoi le cache garde-t-il les anciennes valeurs ?", Language::French),
            ("relance les tests", Language::French),
            ("warum bricht der Import nach dem Update ab", Language::German),
            ("Füge einen Test hinzu", Language::German),
            ("por qué falla la importación de los pedidos", Language::Spanish),
            ("ejecuta los tests", Language::Spanish),
            ("修复 docker-compose 的构建失败", Language::Unspaced),
            ("翻訳キャッシュが古い値を返すのはなぜですか", Language::Unspaced),
            ("translate the string 你好 to English in greeting.ts", Language::English),
            ("почему падает тест", Language::Other),
            ("لماذا فشل الاختبار", Language::Other),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_root() {
        for (language, word, forms) in [
            (Language::French, "deployer", &["deploie", "deploiement", "deploye", "deploiements"][..]),
            (Language::French, "connexion", &["connexions"]),
            (Language::French, "journaux", &["journal", "journaux"]),
            (Language::German, "geloescht", &["loeschen", "geloescht", "loescht"]),
            (Language::German, "rechnung", &["rechnungen", "rechnungsnummer"]),
            (Language::German, "verbindungen", &["verbindung", "datenbankverbindung"]),
            (Language::Spanish, "conexiones", &["conexion"]),
            (Language::Spanish, "sincronizar", &["sincronizacion", "sincroniza", "sincronizado"]),
        ] {
            let root = language.root(word).unwrap();
            for form in forms {
                assert!(root.is_of(form), "{word} ({root:?}) and {form}");
            }
        }
        assert_eq!(Language::English.root("deployments"), None);
        assert_eq!(Language::French.root("cle"), None, "too short and ambiguous");
        assert!(!Language::French.root("porte").unwrap().is_of("portefeuilles"), "another word");
    }

    #[test]
    fn stop_words_are_removed_inside_a_run_of_letters() {
        let pieces = |run| content(run).collect::<Vec<_>>();
        assert_eq!(pieces("为什么支付回调会重复触发"), ["支付回调会重复触发"]);
        assert_eq!(pieces("我们的缓存是怎么失效的"), ["缓存", "失效"]);
        assert_eq!(pieces("キャッシュが古い"), ["キャッシュ", "古"]);
        assert_eq!(pieces("好的谢谢"), [""; 0]);
    }
}
