//! Phrases that reveal a user's statements, in English, French, Spanish and German. All are whole words or sequences
//! of whole words, in lower case.

/// Words that may precede a sentence without being part of it.
pub(super) const OPENERS: &[&str] = &[
    "please", "ok", "okay", "oh", "and", "but", "also", "so", "well", "btw", "hey", "yes", "yeah", "alright", "then",
    "s'il te plaît", "s'il vous plaît", "et", "mais", "aussi", "oui", "por favor", "y", "pero", "también", "sí",
    "bitte", "und", "aber", "auch", "ja",
];

/// "No, …".
pub(super) const NO: &[&str] = &["no", "nope", "nah", "wrong", "non", "nein", "falsch"];

/// "Hmm, I just checked …": a contradiction may follow.
pub(super) const DOUBT: &[&str] = &[
    "hmm", "hm", "wait", "actually", "but", "i mean", "mais", "en fait", "attends", "pero", "en realidad", "espera",
    "aber", "moment", "eigentlich",
];

/// Introduces something that contrasts with what the agent said.
pub(super) const BUT: &[&str] = &["but", "mais", "pero", "aber"];

/// Says that something is possible.
pub(super) const CAN: &[&str] = &[
    "can", "could", "can be", "peut", "peux", "peuvent", "puede", "puedes", "pueden", "kann", "kannst", "können",
];

/// Calls a claim of the agent wrong.
pub(super) const REJECTS: &[&str] = &[
    "that's wrong", "that is wrong", "that was wrong", "this is wrong", "you're wrong", "you are wrong",
    "that's not true", "that is not true", "that isn't true", "that's not it", "that isn't it", "that's incorrect",
    "that is incorrect", "that's not correct", "you misunderstood", "never the problem", "not the problem",
    "isn't the problem", "wasn't the problem", "never the cause", "not the cause", "isn't the cause",
    "wasn't the cause", "never the issue", "not the issue", "isn't the issue", "wasn't the issue", "not the reason",
    "isn't the reason", "wasn't the reason", "c'est faux", "ce n'est pas vrai", "ce n'est pas ça",
    "n'est pas le problème", "n'était pas le problème", "n'a jamais été le problème", "n'est pas la cause",
    "n'était pas la cause", "tu te trompes", "vous vous trompez", "es falso", "eso no es cierto", "eso no es verdad",
    "eso no es", "no es el problema", "no era el problema", "nunca fue el problema", "no es la causa",
    "no era la causa", "te equivocas", "das stimmt nicht", "das ist falsch", "war nie das problem",
    "war nicht das problem", "ist nicht das problem", "ist nicht die ursache", "war nicht die ursache",
    "du irrst dich",
];

/// Says that the request was misread. The agent's findings may still be true.
pub(super) const MEANT: &[&str] = &[
    "i meant", "i was referring to", "i'm referring to", "not what i asked", "not what i meant", "not what i wanted",
    "not what i said", "je voulais dire", "pas ce que j'ai demandé", "pas ce que je voulais", "quise decir",
    "quería decir", "no es lo que pedí", "no es lo que quería", "ich meinte", "ich habe gemeint", "nicht gemeint",
    "danach habe ich nicht gefragt",
];

/// Verbs that make a sentence a statement, unless they come first.
pub(super) const COPULAS: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "does", "isn't", "aren't", "wasn't", "weren't", "hasn't",
    "haven't", "doesn't", "don't", "didn't", "it's", "that's", "there's", "they're", "he's", "she's", "est", "sont",
    "était", "étaient", "a", "ont", "es", "son", "era", "eran", "está", "están", "tiene", "tienen", "fue", "ist",
    "sind", "war", "waren", "hat", "haben",
];

pub(super) const NEGATIONS: &[&str] = &[
    "not", "no", "none", "never", "nothing", "neither", "nobody", "cannot", "pas", "aucun", "aucune", "jamais",
    "rien", "ningún", "ninguno", "ninguna", "nada", "nunca", "nicht", "kein", "keine", "keiner", "nie", "nichts",
];

/// Limits a sentence to the moment. A rule with one of these is an instruction for the task.
pub(super) const TEMPORARY: &[&str] = &[
    "yet", "for now", "right now", "now", "this time", "just this once", "at the moment", "for the moment", "today",
    "until", "pour l'instant", "pour le moment", "cette fois", "aujourd'hui", "maintenant", "por ahora", "de momento",
    "esta vez", "hoy", "ahora", "vorerst", "erstmal", "diesmal", "heute", "noch nicht", "jetzt",
];

/// "This diff", "cette fonction": refers to the task, unless one of [`PLACES`] follows.
pub(super) const THIS: &[&str] = &[
    "this", "these", "ce", "cet", "cette", "ces", "este", "esta", "estos", "estas", "diese", "diesen", "dieser",
    "dieses", "diesem",
];
pub(super) const PLACES: &[&str] = &[
    "project", "repo", "repository", "codebase", "workspace", "monorepo", "team", "company", "projet", "dépôt",
    "équipe", "proyecto", "repositorio", "equipo", "projekt", "projekts", "repos",
];

/// Makes a sentence a rule from now on.
pub(super) const FROM_NOW_ON: &[&str] = &[
    "from now on", "from here on", "going forward", "henceforth", "à partir de maintenant", "désormais", "dorénavant",
    "de ahora en adelante", "a partir de ahora", "en adelante", "ab jetzt", "ab sofort", "von nun an", "künftig",
    "in zukunft",
];

pub(super) const ALWAYS: &[&str] = &[
    "always", "never", "ever", "toujours", "jamais", "siempre", "nunca", "jamás", "immer", "nie", "niemals",
];

pub(super) const EVERY_TIME: &[&str] = &[
    "every time", "each time", "whenever", "à chaque fois", "chaque fois", "cada vez", "siempre que", "jedes mal",
    "jedesmal",
];

/// Words before "always" and "never" in a rule. In a report about something that always happens, another subject
/// precedes them.
pub(super) const DEONTIC: &[&str] = &[
    "please", "should", "must", "to", "you", "we", "i", "and", "or", "but", "doit", "dois", "devez", "devons", "faut",
    "debes", "deben", "debe", "hay que", "sollst", "soll", "sollte", "sollten", "muss", "müssen", "wir", "nous",
];

/// Verbs for ways of working: as imperatives, and after "we".
pub(super) const VERBS: &[&str] = &[
    "use", "run", "write", "add", "keep", "make", "put", "ask", "tell", "show", "check", "update", "format", "commit",
    "push", "test", "explain", "answer", "name", "document", "include", "avoid", "prefer", "follow", "create",
    "start", "call", "open", "log", "return", "review", "squash", "rebase", "merge", "deploy", "release", "leave",
    "work", "respond", "reply", "read", "build", "import", "store", "tag", "target", "support", "pin", "lint", "do",
    "want", "don't", "let", "give", "utilise", "utilisez", "lance", "écris", "mets", "garde", "demande", "fais",
    "ajoute", "évite", "vérifie", "réponds", "teste", "nomme", "préfère", "usa", "utiliza", "ejecuta", "escribe",
    "añade", "pon", "pregunta", "haz", "evita", "comprueba", "responde", "prueba", "prefiere", "uses", "hagas",
    "nutze", "verwende", "benutze", "schreib", "schreibe", "füge", "prüfe", "frag", "frage", "mach", "vermeide",
    "antworte", "behalte",
];

/// Verbs that say nothing about the subject.
pub(super) const LIGHT: &[&str] = &[
    "use", "run", "write", "add", "keep", "make", "put", "ask", "prefer", "give", "want", "utilise", "utilisez", "utilisons",
    "lance", "mets", "usa", "usamos", "uses", "utiliza", "nutze", "verwende", "verwenden", "benutze", "benutzen",
];

/// Verbs that include "we", or are preceded by it.
pub(super) const WE_DO: &[&str] = &[
    "on utilise", "on n'utilise", "nous utilisons", "on écrit", "on met", "on teste", "usamos", "utilizamos",
    "escribimos", "probamos", "wir verwenden", "wir benutzen", "wir nutzen", "wir schreiben", "wir testen",
];
/// Words that may be between "we" and its verb.
pub(super) const BETWEEN: &[&str] = &["always", "never", "only", "don't", "do", "not", "usually", "generally", "all"];
/// Words before "we" that make a question or a condition.
pub(super) const NOT_BEFORE_WE: &[&str] = &[
    "can", "could", "should", "shall", "may", "do", "does", "did", "would", "will", "if", "unless", "what", "how",
    "why", "where", "which", "when", "once", "until",
];

pub(super) const PREFER: &[&str] = &[
    "i prefer", "we prefer", "i'd prefer", "je préfère", "nous préférons", "prefiero", "preferimos", "ich bevorzuge",
    "wir bevorzugen",
];
/// Words for a choice among offered options, which is not a preference.
pub(super) const CHOICE: &[&str] = &[
    "option", "version", "first", "second", "third", "one", "ones", "approach", "variant", "latter", "former",
    "première", "deuxième", "seconde", "opción", "primera", "segunda", "erste", "zweite", "variante",
];

pub(super) const ASK_FIRST: &[&str] = &[
    "ask me before", "ask me first", "ask before", "check with me before", "demande-moi avant", "demandez-moi avant",
    "pregúntame antes", "frag mich bevor", "frag mich vorher", "frag mich, bevor",
];
pub(super) const WITHOUT_ASKING: &[&str] = &[
    "without asking", "without my ok", "without my approval", "sans demander", "sans me demander", "sin preguntar",
    "sin preguntarme", "ohne zu fragen", "ohne mich zu fragen",
];
/// Beginnings of a prohibition.
pub(super) const DONT: &[&str] = &["don't", "do not", "never", "ne", "n'", "no", "nunca", "nie", "niemals"];

/// "Use pnpm instead of npm": the verb, and the words between the two names.
pub(super) const USE: &[&str] = &["use", "utilise", "utilisez", "usa", "utiliza", "nutze", "verwende", "benutze"];
pub(super) const INSTEAD: &[&str] = &[
    "instead of", "rather than", "not", "au lieu de", "plutôt que", "en lugar de", "en vez de", "statt", "anstatt",
];
/// Words that do not precede a name.
pub(super) const DETERMINERS: &[&str] = &[
    "a", "an", "the", "this", "that", "these", "those", "my", "your", "our", "it", "them", "one", "two", "some",
    "any", "un", "une", "le", "la", "les", "ce", "cette", "el", "los", "las", "una", "ein", "eine", "einen", "der",
    "die", "das", "den",
];

/// Requests to remember something.
pub(super) const REMEMBER: &[&str] = &[
    "remember that", "keep in mind", "bear in mind", "souviens-toi que", "n'oublie pas que", "retiens que",
    "recuerda que", "ten en cuenta", "merk dir", "denk daran, dass", "denk daran dass",
];

pub(super) const YES_OR_NO: &[&str] = &[
    "yes", "no", "yep", "yeah", "sure", "ok", "okay", "oui", "non", "sí", "si", "ja", "nein", "go", "continue",
    "cancel",
];

/// Words that refer to a project or a team.
pub(super) const OURS: &[&str] = &[
    "we", "our", "nous", "notre", "nos", "nuestro", "nuestra", "wir", "unser", "unsere", "convention",
];

/// Words that say nothing about a subject.
pub(super) const STOP: &[&str] = &[
    "the", "and", "but", "not", "for", "you", "your", "our", "are", "was", "were", "has", "have", "had", "does",
    "did", "can", "could", "should", "would", "will", "must", "may", "that", "this", "these", "those", "there",
    "then", "than", "they", "them", "their", "its", "it's", "that's", "isn't", "aren't", "wasn't", "weren't", "don't",
    "doesn't", "didn't", "can't", "won't", "what", "when", "where", "which", "while", "who", "why", "how", "all",
    "any", "each", "every", "some", "such", "only", "just", "also", "too", "very", "really", "here", "now", "please",
    "always", "never", "ever", "instead", "rather", "from", "with", "without", "into", "onto", "over", "under",
    "about", "because", "since", "before", "after", "again", "one", "time", "whenever", "like", "want", "need",
    "mean", "meant", "problem", "issue", "wrong", "true", "checked", "hmm", "none", "nothing", "yes", "nope", "let",
    "let's", "get", "got", "going", "forward", "remember", "mind", "i'm", "les", "des", "une", "est", "pas", "que",
    "qui", "pour", "dans", "sur", "avec", "sans", "toujours", "jamais", "nous", "vous", "ils", "elle", "cette", "ces",
    "ici", "désormais", "los", "las", "una", "uno", "del", "para", "por", "con", "sin", "siempre", "nunca", "este",
    "esta", "esto", "eso", "der", "die", "das", "den", "dem", "ein", "eine", "und", "oder", "nicht", "ist", "sind",
    "war", "für", "mit", "ohne", "auf", "immer", "nie", "wir", "sie", "ich",
];
