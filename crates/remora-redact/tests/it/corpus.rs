//! A corpus of secrets: every shape in every carrier, with generated values.

use std::fmt::Write as _;

use remora_redact::{redact, rules};

use crate::secrets::leaks;

/// Minimum percentage of values that must be redacted.
const ENOUGH: usize = 97;

/// Alphabets for generated values.
const MIXED: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &[u8] = b"0123456789abcdef";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// A secret, and how it is written.
#[derive(Debug, Clone)]
enum Shape {
    /// The value of a name; each carrier has its own syntax for it.
    Named { name: String, value: String },
    /// A fixed text with the secret in it.
    Text { text: String, secret: String },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Carrier {
    Plain,
    Quoted,
    Json,
    Yaml,
    Table,
    Ansi,
    Html,
    Diff,
    Log,
    MultiLine,
}

const CARRIERS: [Carrier; 10] = [
    Carrier::Plain,
    Carrier::Quoted,
    Carrier::Json,
    Carrier::Yaml,
    Carrier::Table,
    Carrier::Ansi,
    Carrier::Html,
    Carrier::Diff,
    Carrier::Log,
    Carrier::MultiLine,
];

/// Generates values, the same ones in each run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap()
    }

    fn letters(&mut self, length: usize, alphabet: &[u8]) -> String {
        loop {
            let text: String =
                (0..length).map(|_| char::from(alphabet[self.next() % alphabet.len()])).collect();
            // Short values without digits are covered by other shapes.
            if length < 8 || text.bytes().filter(u8::is_ascii_digit).count() >= 2 {
                return text;
            }
        }
    }

    /// Replaces `{m32}` by 32 letters and digits, and likewise `h` hexadecimal, `l` lower case, `u` upper case,
    /// `b` base64, `B` base58, `n` numbers, and `{uuid}`.
    fn fill(&mut self, template: &str) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, from)) = rest.split_once('{') {
            let (form, after) = from.split_once('}').unwrap();
            text.push_str(before);
            if form == "uuid" {
                let parts = [8, 4, 4, 4, 12].map(|length| self.letters(length, HEX));
                text.push_str(&parts.join("-"));
            } else {
                let alphabet: &[u8] = match form.as_bytes()[0] {
                    b'm' => MIXED,
                    b'h' => HEX,
                    b'l' => LOWER,
                    b'u' => UPPER,
                    b'b' => BASE64,
                    b'B' => BASE58,
                    b'n' => b"0123456789",
                    other => panic!("{}", char::from(other)),
                };
                text.push_str(&self.letters(form[1..].parse().unwrap(), alphabet));
            }
            rest = after;
        }
        text + rest
    }
}

/// Names of passwords, for values that people choose.
const PASSWORD_NAMES: &[&str] = &[
    "password",
    "Password",
    "passwd",
    "DB_PASSWORD",
    "db.password",
    "spring.datasource.password",
    "MYSQL_ROOT_PASSWORD",
    "PGPASSWORD",
    "SMTP_PASS",
    "adminPassword",
    "userPwd",
    "ldap_bind_password",
    "bindpw",
    "REDIS_PASSWORD",
    "ansible_become_pass",
    "keystore_password",
    "wifi_psk",
    "passphrase",
    "Passwort",
    "Kennwort",
    "mot de passe",
    "contraseña",
    "密码",
    "пароль",
    "senha",
    "wachtwoord",
    "パスワード",
    "rootpw",
    "TRUSTSTORE_PASSWORD",
    "login-password",
    "sa_password",
    "ftp_pass",
    "APP_DB_PWD",
    "RABBITMQ_DEFAULT_PASS",
    "initialAdminPassword",
    "proxy_password",
    "sudo_pass",
    "MONGO_INITDB_ROOT_PASSWORD",
];

/// Patterns of passwords that people choose, including those that look like masks, templates and placeholders.
const PASSWORDS: &[&str] = &[
    "{l4}-Harbor-{n2}!",
    "Tr{n2}ub4dor&{n1}",
    "{m14}",
    "p@ss{m6}",
    "{m5}%s{m6}!",
    "{m4}...{m5}9",
    "{m5}***{m4}7",
    "{m3}xxxx{m6}5",
    "Your-{m8}4!",
    "Fake-{m9}2",
    "${m9}!7",
    "example{m6}!3",
    "{l6}#{n3}",
];

/// Names of tokens and keys, for values that machines generate.
const KEY_NAMES: &[&str] = &[
    "token",
    "access_token",
    "refreshToken",
    "GITHUB_PAT",
    "AZURE_DEVOPS_EXT_PAT",
    "API_TOKEN",
    "NPM_TOKEN",
    "slack_bot_token",
    "X-Auth-Token",
    "bearer_token",
    "session_token",
    "deploy_token",
    "CI_JOB_TOKEN",
    "api_key",
    "apiKey",
    "API_KEY",
    "X-API-Key",
    "client_secret",
    "clientSecret",
    "aws_secret_access_key",
    "AWS_SECRET_ACCESS_KEY",
    "SecretAccessKey",
    "SECRET_KEY",
    "SECRET_KEY_BASE",
    "private_key",
    "signing_key",
    "encryption_key",
    "PresharedKey",
    "PrivateKey",
    "account_key",
    "storage_key",
    "webhook_secret",
    "JWT_SECRET",
    "session_secret",
    "hmac_key",
    "subscription-key",
    "master_key",
    "license_key",
    "STRIPE_SECRET",
    "OPENAI_API_KEY",
    "app_secret",
    "shared_secret",
    "consumer_secret",
    "oauth_token_secret",
    "NEXTAUTH_SECRET",
    "auth_token",
    "WEBHOOK_SIGNING_SECRET",
    "vault_token",
];

const KEYS: &[&str] = &["{m32}", "{h40}", "{b43}=", "/{b39}", "{uuid}", "{m12}+/{m20}", "{h64}", "{l36}"];

/// Tokens with a distinctive format.
const TOKENS: &[&str] = &[
    "gh_p_{m36}",
    "github__pat_{m22}_{m59}",
    "gl_pat-{m20}",
    "AK_IA{u16}",
    "sk_-ant-api03-{m80}AA",
    "sk_-proj-{m48}",
    "xo_xb-{n12}-{n12}-{m24}",
    "SG_.{m22}.{m43}",
    "sk__live_{m24}",
    "npm__{m36}",
    "hf__{m34}",
    "glsa__{m32}_{h8}",
    "dop__v1_{h64}",
    "fm2__{b60}/+{b60}",
    "AB_SKQmVkcm9ja0FQSUtleS{b40}+/{b40}",
    "MT_I{m21}.{m6}.{m32}",
    "waka__{uuid}",
    "ory__pat_{m32}",
    "ory__st_{m32}",
    "sdk_-{uuid}",
    "api_-{uuid}",
    "xp_rv{B107}",
    "hvs_.{m28}",
    "ya_29.{m60}",
    "AIz_a{m35}",
    "pypi_-AgEIcHlwaS5vcmc{m70}",
    "dckr__pat_{m27}",
    "shpat__{h32}",
    "whsec__{b32}",
    "tskey_-auth-{m12}-{m30}",
    "nfp__{m36}",
    "lin__api_{m40}",
    "ntn__{m46}",
    "figd__{m43}",
    "PMA_K-{h24}-{h34}",
    "NRA_K-{u27}",
    "pul_-{h40}",
    "dapi_{h32}",
    "rnd__{m32}",
    "r8__{m37}",
    "gsk__{m52}",
    "pplx_-{m48}",
    "eyJ_hbGciOiJIUzI1NiJ9.eyJ{m60}.{m43}",
    "xai_-{m80}",
    "AGE_-SECRET-KEY-1{u58}",
    "EAA_G{m120}",
    "{h32}_-us12",
    "{m76}AZ_DO{m4}",
    "key_-{h32}",
    "sq0_csp-{m43}",
    "LS0_tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQp{b90}",
    "AAAAAAAAAAAAAAAAAAAAA_{m8}AAAAAAA{m8}%2B{m16}%3D{m50}",
    "CFPAT_-{m43}",
    "sntrys__{b80}",
    "pscale__tkn_{m43}",
    "sbp__{h40}",
    "napi__{l64}",
    "ATATT3_{m180}",
];

/// Fixed texts; the secret is between `«` and `»`.
const TEXTS: &[&str] = &[
    "curl -sS -u admin:«{m10}» https://example.org",
    "curl -H 'Authorization: Bearer «{m32}»' https://example.org",
    "curl -H \"X-Api-Key: «{h32}»\" https://example.org",
    "mysql -uroot -p«{l9}» app",
    "sshpass -p «{m9}» ssh root@10.0.0.5",
    "plink -ssh jo@10.0.0.5 -pw «{m9}»",
    "pscp -pw «{m9}» a jo@host:",
    "docker login -u jo -p «{m12}» registry.example.org",
    "PGPASSWORD=«{m10}» psql -h db",
    "redis-cli -h cache -a «{m10}» ping",
    "ConvertTo-SecureString \"«{m10}!»\" -AsPlainText -Force",
    "ConvertTo-SecureString -String '«{m10}»' -AsPlainText -Force",
    "$env:DB_PASSWORD = '«{m10}»'",
    "net user jo «{m10}» /add",
    "cmdkey /add:host /user:jo /pass:«{m10}»",
    "keytool -list -storepass «{m10}»",
    "gpg --batch --passphrase «{m10}» -d a.gpg",
    "echo «{m10}» | sudo -S id",
    "echo 'root:«{m10}»' | chpasswd",
    "ldapsearch -D cn=admin -w «{m10}» -b dc=x",
    "postgres://app:«{m12}»@db.internal/app",
    "mongodb+srv://root:«{m14}»@cluster0.example.org",
    "redis://:«{m14}»@cache:6379/0",
    "https://«{h40}»@git.example.org/x.git",
    "amqp://guest:«{m12}»@mq/vhost",
    "Server=db;User Id=sa;Password=«{m10}»;Encrypt=true",
    "host=db user=app password=«{m10}» dbname=x",
    "AccountName=files;AccountKey=«{b86}==»;EndpointSuffix=x",
    "machine api.example.org login jo password «{m10}»",
    "machine api.example.org\n  login jo\n  password «{m10}»",
    "AWS Secret Access Key [None]: «{m40}»",
    "AWS Secret Access Key [****************ABCD]: «/{b39}»",
    "|  SecretAccessKey |  «{m40}»  |",
    "||  SecretAccessKey  |  «/{b39}»  ||",
    "{\"Name\": \"/prod/db\", \"Type\": \"SecureString\", \"Value\": \"«{m12}»\", \"Version\": 1}",
    "Name: /prod/db\nType: SecureString\nValue: «{m12}»",
    "====== Data ======\nKey         Value\n---         -----\npassword    «{m12}»",
    "Key      Value\n---      -----\ntoken    «{m24}»",
    "| user | password |\n|------|----------|\n| jo   | «{m10}» |\n| al   | «{m10}» |",
    " user | password \n------+----------\n jo   | «{m10}»\n al   | «{m10}»",
    "user,password,email\njo,«{m10}»,jo@example.org",
    "NAME   PASSWORD     AGE\njo     «{m10}»   3d",
    "name\tapi_key\njo\t«{m32}»",
    "user;passwort\njo;«{m10}»",
    "+------+----------+\n| user | password |\n+------+----------+\n| jo   | «{m10}» |\n+------+----------+",
    "password: |\n  «{m10}»",
    "api_key: >-\n    «{m32}»",
    "tls.key: |\n  «{b43}=»\ntoken: |-\n  «{m30}»",
    "client-key-data: LS0tLS1CRUdJTiBF«QyBQUklWQVRFIEtFWS0tLS0t{b90}»",
    "[Peer]\nPublicKey = abc\nPresharedKey = «{b43}=»",
    "bindpw «{m10}»",
    "requirepass «{m12}»",
    "config?password=«{m10}»&x=1",
    "grant_type=password&username=jo&password=«{m10}»",
    "%70assword=«{m12}»",
    "db%5Fpassword%3D«{m12}»",
    "name%3Djo%26api%5Fkey%3D«{m32}»",
    "Le mot de passe est «{m10}»",
    "Das Passwort lautet «{m10}»",
    "la contraseña es «{m10}»",
    "密码：«{m10}»",
    "密码是 «{m10}»",
    "The password is «{m10}»",
    "Mot de passe : «{m10}»",
    "Kennwort: «{m10}»",
    "asana: «1/{n16}:{h32}»",
    "WIF: «5J{B49}»",
    "importprivkey «L2{B50}»",
    "<password>«{m10}»</password>",
    "<key>password</key><string>«{m10}»</string>",
    "<name>fs.s3a.secret.key</name>\n<value>«{m40}»</value>",
    "<string name=\"api_key\">«{m32}»</string>",
    "<add key=\"Password\" value=\"«{m10}»\" />",
    "<tr><td>Password</td><td>«{m10}»</td></tr>",
    "aws ssm put-parameter --name /a --value «{m12}» --type SecureString",
    "vault kv put secret/app password=«{m10}» user=jo",
    "kubectl create secret generic x --from-literal=apikey=«{m24}»",
    "az keyvault secret set --name a --value «{m16}»",
    "security add-generic-password -a jo -s x -w «{m10}»",
    "gh secret set NPM --body \"«{m24}»\"",
    "//registry.npmjs.org/:_authToken=«{uuid}»",
    "db.internal:5432:orders:app:«{m14}»",
    "ALTER USER app WITH PASSWORD '«{m10}»'",
    "CREATE USER app IDENTIFIED BY '«{m10}»';",
    "Cookie: theme=dark; sid=«{h32}»",
    "Set-Cookie: auth=«{m40}»; Path=/",
    "{\"auths\": {\"r.example.org\": {\"auth\": \"«ZGVwbG95OlhrMjlmalE3dkx3»\"}}}",
    "Authorization: Basic «d9X29QeiLJzzmnlx0bgfOq==»",
    "otpauth://totp/A:jo?secret=«XMMKN6PNPHGKN3IJTLYB»&issuer=A",
    "\"\"password\"\": \"\"«{m10}»\"\"",
    "\"{\"\"api_key\"\": \"\"«{m32}»\"\"}\"",
    "client.login('jo', password='«{m10}»')",
    "requests.get(url, auth=('jo', '«{m10}»'))",
    "new Client({ password: '«{m10}»' })",
    "String password = \"«{m10}»\";",
    "password := \"«{m10}»\"",
    "'password' => '«{m10}»',",
    "define('DB_PASSWORD', '«{m10}»');",
    "config[:password] = '«{m10}»'",
    "const char *passwd = \"«{m10}»\";",
    "sqlcmd -S db -U sa -P «{m10}» -Q go",
    "https://hooks.slack.com/services/«T{u10}/B{u10}/{m24}»",
    "https://discord.com/api/webhooks/{n18}/«{m68}»",
    "{n8}:«AA{m33}»",
    "X-Amz-Signature=«{h64}»&X-Amz-Expires=3600",
    "sv=2024-11-04&sig=«{b43}%3D»",
    "mnemonic: «orbit velvet cactus ripple lemon harbor quartz tunnel maple zebra pulse island»",
    "PHPSESSID=«{l26}»",
    "snmpget -v3 -u jo -A «{m10}» -l authNoPriv host",
    "ipmitool -H bmc -U root -P «{m10}» power status",
    "smbclient //nas/share -U jo%«{m10}»",
    "xfreerdp /v:host /u:jo /p:«{m10}»",
    "openssl rsa -in k.pem -passin pass:«{m10}»",
    "enable secret 5 $1$mERr$«{m22}»",
    "username jo password 0 «{m10}»",
    "mount -t cifs //nas/x /mnt -o username=jo,password=«{m10}»",
    "DB_PASS=«{m10}»",
    "export DATABASE_PASSWORD=\"«{m8}$x%s»\"",
    "password=«letmein»",
    "INFO user login password=«sunshine»",
    "password: \"«Fake-News-2024!»\"",
    "DB_PASSWORD='«$ecretPa55»'",
    "password = '«example123!»'",
    "password: «P@$$w0rd...»",
    "secret: \"«s3cr3t***x9»\"",
    "login: jo / password: «{m9}»",
    "Username: jo  Password: «{m9}»",
    "user=jo;pwd=«{m9}»",
    "jdbc:mysql://db/app?user=jo&password=«{m9}»",
    "jdbc:sqlserver://db;databaseName=x;user=sa;password=«{m9}»;",
    "mongodb://jo:«{m6}!{m3}»@db/x",
    "ftp://jo:«{m9}»@ftp.example.org/",
    "aws_secret_access_key = «/{b39}»",
    "\"SecretAccessKey\": \"«/{b39}»\",",
    "AWS_SECRET_ACCESS_KEY: «{b20}/{b19}»",
    "aws configure set aws_secret_access_key «{b40}»",
    "AWS Secret Access Key [None]: «{b40}»",
    "|  SecretAccessKey|  «{b40}»  |",
    "GH_PAT=«{m40}»",
    "AZDO_PAT: «{l52}»",
    "MY_PAT=\"«{l40}»\"",
    "ASANA_ACCESS_TOKEN=«1/{n16}:{h32}»",
    "PrivateKey = «{b43}=»",
    "PresharedKey = «{b43}=»",
    "bindpw «{m9}»",
    "bindpw: «{m9}»",
    "olcRootPW: «{m9}»",
    "$pw = ConvertTo-SecureString '«{m9}»' -AsPlainText -Force",
    "$cred = New-Object PSCredential('jo', (ConvertTo-SecureString \"«{m9}»\" -AsPlainText -Force))",
    "plink.exe -batch -pw «{m9}» root@host uptime",
    "putty -ssh root@host -pw «{m9}»",
    "Passwort: «{m9}»",
    "Ihr Kennwort lautet: «{m9}»",
    "mot de passe = «{m9}»",
    "Contraseña: «{m9}»",
    "La contraseña del usuario es «{m9}»",
    "密码：«{m9}»",
    "用户名: jo 密码: «{m9}»",
    "数据库密码=«{m9}»",
    "пароль: «{m9}»",
    "パスワードは「«{m9}»」です",
    "password%3D«{m9}»",
    "p%61ssword=«{m9}»",
    "user%5Bpassword%5D=«{m9}»",
    "%22api_key%22%3A%22«{m32}»%22",
    "&#34;password&#34;&#58; &#34;«{m9}»&#34;",
    "<span class=\"k\">password</span><span class=\"o\">=</span><span class=\"s\">\"«{m9}»\"</span>",
    "<dt>Password</dt><dd>«{m9}»</dd>",
    "<b>API key</b>: <code>«{m32}»</code>",
    "<input type=\"password\" name=\"password\" value=\"«{m9}»\">",
    "<td>DB_PASSWORD</td>\n  <td>«{m9}»</td>",
    "\"Authorization: Bearer «{m40}»\"",
    "Authorization: token «{h40}»",
    "Authorization: Basic «dXNlcjpwYXNzd29yZDEyMw==»",
    "Proxy-Authorization: Basic «dXNlcjpwYXNzd29yZDEyMw==»",
    "X-Vault-Token: «{m26}»",
    "X-Auth-Key: «{h37}»",
    "PRIVATE-TOKEN: «{m20}»",
    "curl -u jo:«{m9}» https://x",
    "curl --user \"jo:«{m9}»\" https://x",
    "curl -d 'username=jo&password=«{m9}»' https://x",
    "wget --user=jo --password=«{m9}» https://x",
    "http --auth jo:«{m9}» https://x",
    "mysql -u root -p«{m9}» db",
    "mysqldump --password=«{m9}» db",
    "psql \"host=x password=«{m9}»\"",
    "sqlcmd -S x -U sa -P '«{m9}»'",
    "docker run -e POSTGRES_PASSWORD=«{m9}» postgres",
    "docker login -u jo --password «{m9}»",
    "helm install x --set auth.password=«{m9}»",
    "helm install x --set-string db.password=«{m9}»",
    "ansible-playbook x.yml -e \"ansible_password=«{m9}»\"",
    "nmcli dev wifi connect Home password «{m9}»",
    "wpa_passphrase Home «{m12}»",
    "sshpass -p'«{m9}»' ssh x",
    "echo \"«{m9}»\" | sudo -S ls",
    "echo \"jo:«{m9}»\" | sudo chpasswd",
    "openssl enc -k «{m9}» -in a",
    "7z a -p«{m9}» x.7z",
    "zip -P «{m9}» x.zip a",
    "gpg --passphrase \"«{m9}»\" -c a",
    "ssh-keygen -N \"«{m9}»\" -f k",
    "vault kv put secret/x password=«{m9}»",
    "Key              Value\n---              -----\npassword         «{m9}»\nusername         jo",
    "heroku config:set API=«{m24}»",
    "STRIPE_KEY=«{m32}»",
    "OPENAI_KEY: «{m40}»",
    "SENDGRID_KEY=\"«{m40}»\"",
    "MAPS_KEY=«{m39}»",
    "encryption.key=«{h64}»",
    "app.jwt.secret=«{m40}»",
    "SECRET_TOKEN: «{h64}»",
    "secret_key_base: «{h128}»",
    "\"client_secret\":\"«{m8}~{m20}»\"",
    "machine github.com\nlogin jo\npassword «{m20}»",
    "default login jo password «{m9}»",
    "password: |-\n    «{m9}»",
    "api_key: >\n  «{m32}»",
    "token: &tok «{m32}»",
    "password:\n  «{m9}»",
    "const apiKey =\n  '«{m32}»';",
    "| Service | Password |\n|---|---|\n| db | «{m9}» |",
    "| name  | api_key |\n| ----- | ------- |\n| prod  | «{m32}» |",
    "id | email | password_hash\n---+-------+------\n 1 | a@b.c | «{h40}»",
    "username  password\n--------  --------\njo        «{m9}»",
    "USER   PASS\njo     «{m9}»",
    "name,token\nprod,«{m32}»",
    "\"name\",\"password\"\n\"jo\",\"«{m9}»\"",
    "user\tpassword\njo\t«{m9}»",
    "┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n│ jo   │ «{m9}» │",
    "| Parameter | Value |\n|---|---|\n| DB_PASSWORD | «{m9}» |",
    "| API Key | «{m32}» |",
    "Secret Key: «{m32}»",
    "Access Token: «{m32}»",
    "Client Secret: «{m32}»",
    "- **API Key:** `«{m32}»`",
    "- Password: `«{m9}»`",
    "API key → «{m32}»",
    "my password is «{m9}»",
    "the token was «{m32}»",
    "password set to «{m9}»",
    "New password: «{m9}»",
    "Enter password: «{m9}»",
    "Temporary password: «{m9}!»",
    "The generated password is: «{m9}»",
    "root password (change it): «{m9}»",
    "wifi: HomeNet / psk=«{m9}»",
    "wpa_psk=\"«{m9}»\"",
    "enable password «{m9}»",
    "snmp-server community «{m9}» RO",
    "define('AUTH_KEY', '«{m40}»');",
    "$config['password'] = '«{m9}»';",
    "'DB_PASSWORD' => env('DB_PASSWORD', '«{m9}»'),",
    "os.environ[\"API_KEY\"] = \"«{m32}»\"",
    "os.environ.setdefault(\"API_KEY\", \"«{m32}»\")",
    "process.env.TOKEN = '«{m32}»'",
    "System.setProperty(\"javax.net.ssl.keyStorePassword\", \"«{m9}»\");",
    "DriverManager.getConnection(url, \"jo\", \"«{m9}»\")",
    "Credentials.basic(\"jo\", \"«{m9}»\")",
    ".withPassword(\"«{m9}»\")",
    "setPassword(\"«{m9}»\")",
    "new SqlConnection(\"Data Source=x;Password=«{m9}»\")",
    "client = Client(api_key=\"«{m32}»\")",
    "Client::new(\"jo\", \"x\").password(\"«{m9}»\")",
    "let api_key: &'static str = \"«{m32}»\";",
    "var Password = \"«{m9}»\"",
    "val apiToken: String = \"«{m32}»\"",
    "password => «{m9}»",
    ":password: «{m9}»",
    "--admin-password «{m9}»",
    "-Password \"«{m9}»\"",
    "--token=«{m32}»",
    "registry_password = «{m9}»",
    "_password=«{b24}»",
    "//registry.npmjs.org/:_password=\"«{b24}»\"",
    "//registry.npmjs.org/:_auth=«dXNlcjpwYXNzd29yZDEyMw==»",
    "<server><username>jo</username><password>«{m9}»</password></server>",
    "<add name=\"x\" connectionString=\"Server=x;Password=«{m9}»\" />",
    "<key>apiToken</key>\n\t<string>«{m32}»</string>",
    "<entry key=\"password\">«{m9}»</entry>",
    "<var name=\"api_key\" value=\"«{m32}»\"/>",
    "\u{1b}[1mPassword\u{1b}[22m: \u{1b}[32m«{m9}»\u{1b}[39m",
    "\u{1b}[32m+\u{1b}[m\u{1b}[32mDB_PASSWORD=«{m9}»\u{1b}[m",
    "\u{1b}[0;34mtoken\u{1b}[0m=\u{1b}[0;33m«{m32}»\u{1b}[0m",
    "May  1 12:00:00 host app[123]: password=«{m9}»",
    "time=\"2026-01-02T03:04:05Z\" level=info msg=\"x\" password=«{m9}»",
    "web_1  | DB_PASSWORD=«{m9}»",
    "     3→DB_PASSWORD=«letmein»",
    "    12	password: «letmein»",
    "config.yml:12:  password: «letmein»",
    "\"Value\": \"«{m12}»\", \"Type\": \"SecureString\"",
    "PARAMETERS\t/prod/x\tSecureString\t«{m9}»\t1",
    "SecretString: «{m12}»",
    "tls.key: «LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk{b90}»",
    "use «{m9}» as the password",
    "/p:«{m9}»",
    "-p «{m9}»",
    "username jo secret 0 «{m9}»",
    "\"password\"\";\"\"«{m9}»\"",
];

fn shapes() -> Vec<Shape> {
    let mut noise = Noise(0x5eed_0f5e_c2e7_1234);
    let mut shapes = Vec::new();
    for (names, forms) in [(PASSWORD_NAMES, PASSWORDS), (KEY_NAMES, KEYS)] {
        for (at, name) in names.iter().enumerate() {
            for form in [forms[at % forms.len()], forms[(at * 5 + 3) % forms.len()]] {
                shapes.push(Shape::Named { name: (*name).to_owned(), value: noise.fill(form) });
            }
        }
    }
    for token in TOKENS {
        // The underscore splits the prefix in this file, so that no scanner takes it for a key.
        let (prefix, body) = token.split_once('_').unwrap();
        let token = noise.fill(&format!("{prefix}{body}"));
        shapes.push(Shape::Text { text: token.clone(), secret: token });
    }
    for text in TEXTS {
        let filled =
            noise.fill(&text.replace("{\"", "\u{1}\"").replace("({ ", "(\u{1} ").replace(" })", " \u{2})"));
        let filled = filled.replace('\u{1}', "{").replace('\u{2}', "}");
        let secret = filled.split('«').nth(1).unwrap().split('»').next().unwrap().to_owned();
        shapes.push(Shape::Text { text: filled.replace(['«', '»'], ""), secret });
    }
    for rule in rules() {
        for (at, sample) in rule.samples.iter().enumerate() {
            let secret = rule.secrets.get(at).unwrap_or(sample);
            shapes.push(Shape::Text { text: (*sample).to_owned(), secret: (*secret).to_owned() });
        }
    }
    shapes
}

/// The shape in the carrier, and the secret as it is written there.
fn carried(shape: &Shape, carrier: Carrier) -> (String, String) {
    match shape {
        Shape::Named { name, value } => carried_value(name, value, carrier),
        Shape::Text { text, secret } => carried_text(text, secret, carrier),
    }
}

fn carried_value(name: &str, value: &str, carrier: Carrier) -> (String, String) {
    let separator = if name.contains(' ') || !name.is_ascii() { ": " } else { "=" };
    let text = match carrier {
        Carrier::Plain => format!("{name}{separator}{value}\n"),
        Carrier::Quoted => format!("{name} = \"{value}\"\n"),
        Carrier::Json => format!("{{\"user\": \"jo\", \"{name}\": \"{value}\", \"n\": 1}}"),
        Carrier::Yaml => format!("app:\n  user: jo\n  {name}: {value}\n  debug: true\n"),
        Carrier::Table => format!("| user | jo |\n| {name} | {value} |\n"),
        Carrier::Ansi => format!("\u{1b}[36m{name}\u{1b}[0m: \u{1b}[1;33m{value}\u{1b}[0m\n"),
        Carrier::Html => {
            let value = html(value);
            return (format!("<pre>&quot;{name}&quot;: &quot;{value}&quot;</pre>\n"), value);
        }
        Carrier::Diff => format!("@@ -1,2 +1,2 @@\n user: jo\n-{name}: old\n+{name}: {value}\n"),
        Carrier::Log => format!("2026-01-02T03:04:05.678Z INFO [main] config: {name}{separator}{value}\n"),
        Carrier::MultiLine => format!("{name}: |\n    {value}\nuser: jo\n"),
    };
    (text, value.to_owned())
}

fn carried_text(text: &str, secret: &str, carrier: Carrier) -> (String, String) {
    let on_lines = |margin: &str| text.replace('\n', &format!("\n{margin}"));
    let text = match carrier {
        Carrier::Plain => format!("{text}\n"),
        Carrier::Quoted => {
            let quote = if text.contains('"') { if text.contains('\'') { '`' } else { '\'' } } else { '"' };
            format!("run({quote}{text}{quote})\n")
        }
        Carrier::Json => {
            let json = |text: &str| serde_json::to_string(text).unwrap();
            let secret = json(secret);
            return (
                format!("{{\"stdout\": {}, \"code\": 0}}", json(text)),
                secret[1..secret.len() - 1].to_owned(),
            );
        }
        Carrier::Yaml => format!("steps:\n  - run: |\n      {}\n", on_lines("      ")),
        Carrier::Table => format!("| line | text |\n|---|---|\n| 1 | {text} |\n"),
        Carrier::Ansi => {
            // Like `grep --color` and pagers: each line has its own colours.
            format!("\u{1b}[32m{}\u{1b}[0m\n", text.replace('\n', "\u{1b}[0m\n\u{1b}[32m"))
        }
        Carrier::Html => return (format!("<pre><code>{}</code></pre>\n", html(text)), html(secret)),
        Carrier::Diff => format!("@@ -1,2 +1,3 @@\n context\n+{}\n", on_lines("+")),
        Carrier::Log => format!(
            "2026-01-02 03:04:05,678 DEBUG app[12]: {}\n",
            on_lines("2026-01-02 03:04:05,679 DEBUG app[12]: ")
        ),
        Carrier::MultiLine => format!("I ran this:\n\n    {}\n\nand it failed.\n", on_lines("    ")),
    };
    let secret = secret.lines().map(str::trim).max_by_key(|line| line.len()).unwrap_or("").to_owned();
    (text, secret)
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[test]
fn nearly_all_secrets_are_redacted_in_any_carrier() {
    let shapes = shapes();
    assert!(shapes.len() >= 300, "{}", shapes.len());
    let mut report = String::new();
    let mut left = String::new();
    let mut redacted_values = 0;
    for carrier in CARRIERS {
        let mut gone = 0;
        for shape in &shapes {
            let (text, secret) = carried(shape, carrier);
            let redacted = redact(&text);
            if leaks(&redacted, &text, &secret) {
                let _ = writeln!(left, "{carrier:?}: {secret:?} of {text:?}\n    became {redacted:?}");
            } else {
                gone += 1;
            }
        }
        redacted_values += gone;
        let _ = writeln!(report, "{carrier:?}: {gone} of {} redacted", shapes.len());
    }
    let values = shapes.len() * CARRIERS.len();
    let _ = writeln!(report, "all carriers: {redacted_values} of {values} redacted");
    println!("{report}\n{left}");
    assert!(redacted_values * 100 >= values * ENOUGH, "{report}\n{left}");
}
