"""Examples of what each rule about secrets finds and leaves alone, beside each other.

No file of this repository has anything that looks like a secret: examples are templates, filled by chance when a test
runs. `<A36>` in a template stands for 36 characters of the alphabet `A` below. A
`~` between backticks is taken out: it stands where a template would be a find for programs that look for secrets.
"""

from __future__ import annotations

import random
import re
import string

import attrs

_BASE62 = string.ascii_letters + string.digits
ALPHABETS = {
    "A": _BASE62,
    "b": _BASE62 + "+/",
    "u": _BASE62 + "_-",
    "h": "0123456789abcdef",
    "d": string.digits,
    "D": "123456789",
    "l": string.ascii_lowercase,
    "U": string.ascii_uppercase + string.digits,
    "2": string.ascii_uppercase + "234567",
    "e": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "z": _BASE62 + "_~.-",
    "j": string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)",
}
_PART = re.compile(r"<([AbuhdDlU2ezj])([0-9]+)>")
UUID = "<h8>-<h4>-<h4>-<h4>-<h12>"


@attrs.frozen
class Example:
    """What a rule finds, and what is much like it and is none.

    Attributes:
        found: templates of texts with one secret each.
        left: templates of texts without any for any rule, for the same file.
        path: of the file.
    """

    found: tuple[str, ...]
    left: tuple[str, ...]
    path: str = "src/app.py"


def fill(template: str, chance: random.Random) -> tuple[bytes, list[bytes]]:
    """Gives the text of a template, and its parts that chance filled."""
    parts: list[bytes] = []

    def part(match: re.Match[str]) -> str:
        made = "".join(chance.choices(ALPHABETS[match[1]], k=int(match[2])))
        parts.append(made.encode())
        return made

    return _PART.sub(part, template.replace("`~`", "")).encode(), parts


PEM = "-----BEGIN `~`{}PRIVATE KEY{}-----"

EXAMPLES = {
    "private-key": Example(
        (
            PEM.format("", "") + "\nMIIE<b60>\n<b64>\n",
            PEM.format("RSA ", "") + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,<U32>\n\n<b64>\n<b64>\n",
            PEM.format("OPENSSH ", "") + "\nb3Bl<b66>\n<b70>\n",
            PEM.format("PGP ", " BLOCK") + "\nVersion: GnuPG v2\n\nlQOY<b60>\n<b64>\n",
            PEM.format("EC ", "") + "\r\n<b64>\r\n<b64>\r\n",
            'pem = "' + PEM.format("", "") + r"\nMIIE<b60>\n<b64>\n" + '"',
            "lines = [\n    '" + PEM.format("PGP ", " BLOCK") + "',\n    'lQO+<b60>',\n]",
        ),
        (
            'if "' + PEM.format("", "") + '" in text:\n    return find_the_end_of_it(text)',
            PEM.format("RSA ", "") + "\n...\n-----END RSA PRIVATE KEY-----",
            PEM.format("", "") + "\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
            "-----BEGIN CERTIFICATE-----\nMIIE<b60>\n<b64>\n",
            "-----BEGIN PUBLIC KEY-----\nMIIB<b60>\n<b64>\n",
        ),
    ),
    "putty-private-key": Example(
        ("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n<b44>\nPrivate-MAC: 00",),
        ("Private-Lines: 1\nnone",),
        "keys/me.txt",
    ),
    "age-secret-key": Example(
        ("# created\nAGE-SECRET-`~`KEY-1<e58>\n",), ("# public key: age1<l58>", "AGE-SECRET-KEY-1")
    ),
    "aws-access-key-id": Example(
        ('key_id = "AK`~`IA<216>"', "AWS_ACCESS_KEY_ID=AS`~`IA<216>"),
        (
            "AKIAIOSFODNN7EXAMPLE",
            "blob = <b30>AK`~`IA<216><b30>",
            "x = AK`~`IA<216>/<b3>",
            "AKIA_IS_A_LONG_PREFIX_OF_AWS",
        ),
    ),
    "aws-secret-access-key": Example(
        ("aws_secret_access_key = <b40>", 'secretAccessKey: "<b40>"', '"AWS_SECRET_KEY", "<b40>"'),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_key_sha = <h40>",
            '"integrity": "sha512-<b30>aws4jWv8<b48>=="',
            "aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}",
        ),
    ),
    "google-api-key": Example(
        ('src="https://maps.googleapis.com/maps/api/js?key=AI`~`za<u35>"', "AI`~`za<u35>"),
        ("AIza-your-key", "blob=<b40>AI`~`za<A35><b40>", "AI`~`zaxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ),
    "google-oauth-client-secret": Example(
        ('"client_secret": "GOC`~`SPX-<u28>"',), ("GOCSPX-your-client-secret-goes-here", "client_id = <d12>-<l32>.apps")
    ),
    "google-oauth-access-token": Example(("ya`~`29.<u80>",), ("ya29.short", "maya29.<A40>")),
    "google-service-account": Example(
        ('{"type": "service_account", "private_key_id": "<h40>"}',),
        ('{"type": "service_account", "private_key_id": "your-key-id"}', '"private_key_id": ""'),
        "config/account-of-service.json",
    ),
    "firebase-server-key": Example(("AAAA<u7>:<u140>",), ("AAAAAAAAAAA:AAAAAAAAAAAA", "AAAA:<A20>")),
    "azure-storage-key": Example(
        ("DefaultEndpointsProtocol=https;AccountName=me;AccountKey=<b86>==;EndpointSuffix=core.windows.net",),
        (
            "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
            "AccountKey=${STORAGE_KEY}",
            "sha512: <b86>==",
        ),
    ),
    "azure-shared-access-key": Example(
        ("Endpoint=sb://me.servicebus.windows.net/;SharedAccessKeyName=all;SharedAccessKey=<b43>=",),
        ("SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=<your key>",),
    ),
    "azure-shared-access-signature": Example(
        ("https://me.blob.core.windows.net/c?sv=2022-11-02&se=2030-01-01&sig=<b43>%3D",),
        ("https://me.blob.core.windows.net/c?sv=2022-11-02&sig={signature}", "?design=<A20>"),
    ),
    "azure-client-secret": Example(
        ("client: <A3>8Q`~`~<z33>\n".replace("`~`~", "~"),), ("FAQ~ a list", "~/projects/of/mine", "a3Q~short")
    ),
    "digitalocean-token": Example(("do`~`p_v1_<h64>",), ("dop_v1_token", "dop_v1_" + "0" * 64)),
    "heroku-token": Example(
        ("HEROKU_API_KEY=" + UUID, 'heroku_token: "HRKU-AA<u58>"'),
        ("id = " + UUID, "HEROKU_APP_ID=" + UUID, "HEROKU_API_KEY=00000000-0000-0000-0000-000000000000"),
    ),
    "vault-token": Example(("hv`~`s.<u90>",), ("hvs.py", "self.hvs.<A30>")),
    "terraform-token": Example(("<A14>.atlas`~`v1.<u64>",), ("mine.atlasv1.token",)),
    "databricks-token": Example(
        ("da`~`pi<h32>", "da`~`pi<h32>-2"), ("dapi_is_a_long_name_of_a_thing", "dapi" + "a" * 32)
    ),
    "github-token": Example(
        ("token: gh`~`p_<A36>", "https://gh`~`o_<A36>@github.com/me/it"),
        (
            "ghp_" + "x" * 36,
            "ghp_<short>",
            "ghp_" + "a" * 36,
            "commit <h40>",
            "# ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        ),
    ),
    "github-app-token": Example(
        ("gh`~`s_<A36>", "gh`~`u_<A36>", "gh`~`s_<u40>.<u80>.<u43>"), ("ghs_your_token_of_the_installation", "ghs_...")
    ),
    "github-fine-grained-token": Example(
        ("github_`~`pat_<A22>_<A59>",), ("github_pat_" + "X" * 22 + "_" + "X" * 59, "github_pat_token_for_example")
    ),
    "gitlab-token": Example(
        ("gl`~`pat-<u20>", "gl`~`pat-<A8>yoUR-<A7>", "gl`~`rt-<A27>.<h2>.<h9>", "GR1348`~`941<u20>"),
        ("glpat-your-token-goes-in-here", "glpat-xxxxxxxxxxxxxxxxxxxx", "glrt-a-name-of-words-that-is-long"),
    ),
    "npm-token": Example(("np`~`m_<A36>",), ("npm_config_registry_of_the_company_in_use", "npm_" + "x" * 36)),
    "npmrc-auth": Example(
        ("//registry.npmjs.org/:_authToken=" + UUID, "//npm.me/:_password=<b32>="),
        ("//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "registry=https://registry.npmjs.org/"),
        ".npmrc",
    ),
    "pypi-token": Example(
        ("py`~`pi-AgEIcHlwaS5vcmc<u150>",), ("pypi-AgEIcHlwaS5vcmc...", "pypi-agent-of-some-kind-<l50>")
    ),
    "rubygems-token": Example((":key: ruby`~`gems_<h48>",), ("rubygems_version_of_the_program_that_runs",)),
    "docker-token": Example(("dckr_`~`pat_<u27>", "dckr_`~`oat_<u32>"), ("dckr_pat_your_token_goes_in_here_now",)),
    "docker-auth": Example(
        ('{"auths": {"ghcr.io": {"auth": "<b40>=="}}}',),
        ('{"auth": "none"}', '{"auth": "${DOCKER_AUTH_CONFIG_OF_THIS_JOB}"}'),
        "deploy/registry.json",
    ),
    "pulumi-token": Example(("pu`~`l-<h40>",), ("pul-" + "0" * 40, "ampul-<h40>")),
    "openai-key": Example(
        ("sk-<A20>T3Blbk`~`FJ<A20>", "sk-proj-<u74>T3Blbk`~`FJ<u74>", "sk-svcacct-<u51>T3Blbk`~`FJ<u51>"),
        ("sk-your-openai-key-goes-here", "T3BlbkFJ", "sk-proj-" + "x" * 60),
    ),
    "anthropic-key": Example(
        ("sk-a`~`nt-api03-<u93>AA", "sk-a`~`nt-oat01-<u93>AA"), ("sk-ant-api03-...", "sk-ant-api03-" + "x" * 93 + "AA")
    ),
    "openrouter-key": Example(("sk-or-`~`v1-<h64>",), ("sk-or-v1-" + "0" * 64, "sk-or-v1-your-key")),
    "huggingface-token": Example(
        ("HF_TOKEN=h`~`f_<A34>",), ("hf_hub_download_from_the_main_repository", "hf_" + "x" * 34, "shelf_<A34>")
    ),
    "groq-key": Example(("gs`~`k_<A52>",), ("gsk_" + "x" * 52,)),
    "replicate-token": Example(("r8`~`_<A37>",), ("r8_" + "x" * 37, "var8_<A37>")),
    "xai-key": Example(("xa`~`i-<A80>",), ("xai-" + "x" * 80,)),
    "perplexity-key": Example(("pp`~`lx-<A48>",), ("pplx-" + "x" * 48, "pplx-7b-online")),
    "slack-token": Example(
        ("xox`~`b-<d12>-<d12>-<A24>", "xox`~`p-<d12>-<d12>-<d12>-<h32>", "xox`~`e.xoxp-1-<A140>"),
        ("xoxb-your-token-goes-in-here", "xoxb-000000000000-000000000000-000000000000000000000000"),
    ),
    "slack-app-token": Example(("xa`~`pp-1-<U11>-<d13>-<h64>",), ("xapp-1-your-token-of-the-app",)),
    "slack-webhook": Example(
        ("https://hooks.slack`~`.com/services/T<U10>/B<U10>/<A24>",),
        ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "hooks.slack.com/services/"),
    ),
    "discord-webhook": Example(
        ("https://discord`~`.com/api/webhooks/<D1><d17>/<u68>",), ("https://discord.com/api/webhooks/123/your-token",)
    ),
    "telegram-bot-token": Example(
        ("token = <D1><d8>:AA<u33>", "https://api.telegram.org/bot<D1><d9>:AA<u33>/getMe"),
        ("12345678:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "port: 8080:AA"),
    ),
    "twilio-key": Example(
        ("SK`~`<h32>", "TWILIO_AUTH_TOKEN=<h32>", 'twilio_token: "<h32>"'),
        ("md5 = <h32>", "AC<h32>", "TWILIO_AUTH_TOKEN=your_auth_token", "blob=<b40>SK<h32>"),
    ),
    "sendgrid-key": Example(("S`~`G.<u22>.<u43>",), ("SG.xxxxxxxxxxxxxxxxxxxxxx." + "x" * 43, "msg.MSG.<A22>")),
    "mailgun-key": Example(
        ("ke`~`y-<h32>", "MAILGUN_API_KEY=<h32>-<h8>-<h8>"), ("cache-key-<h32>", "uuid = <h32>-<h8>", "key-" + "0" * 32)
    ),
    "mailchimp-key": Example(("<h32>-us`~`14",), ("in-us-20", "0" * 32 + "-us14")),
    "stripe-key": Example(
        ("sk_li`~`ve_<A24>", "rk_te`~`st_<A99>", "whs`~`ec_<A32>"),
        ("sk_live_xxxxxxxxxxxxxxxxxxxxxxxx", "risk_test_<A24>"),
    ),
    "shopify-token": Example(("shp`~`at_<h32>",), ("shpat_" + "0" * 32,)),
    "grafana-token": Example(("gl`~`sa_<A32>_<h8>",), ("glsa_" + "x" * 32 + "_00000000",)),
    "linear-key": Example(("lin_`~`api_<A40>",), ("lin_api_" + "x" * 40, "lin_api_version")),
    "postman-key": Example(("PM`~`AK-<h24>-<h34>",), ("PMAK-" + "0" * 24 + "-" + "0" * 34,)),
    "newrelic-key": Example(("NR`~`AK-<U27>",), ("NRAK-" + "X" * 27,)),
    "doppler-token": Example(("dp.p`~`t.<A43>", "dp.s`~`t.prd.<A43>"), ("dp.pt.your-token", "dp.pt." + "x" * 43)),
    "sentry-token": Example(("sntr`~`yu_<h64>", "sntr`~`ys_eyJ<u90>"), ("sntryu_" + "0" * 64,)),
    "atlassian-token": Example(("ATATT`~`3<u186>=<U8>", "ATB`~`B<A32>"), ("ATATT3xFfGF0...", "ATBB" + "x" * 32)),
    "json-web-token": Example(
        ("t = 'ey`~`J<u33>.eyJ<u60>.<u43>'",),
        (
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
            "ey`~`J<u33>.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.<u43>",
            "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozL<b40>",
        ),
    ),
    "authorization-header": Example(
        ('curl -H "Authorization: Bearer <A20>7<A20>"', "'Authorization': 'Basic <A10>7<A12>=='"),
        (
            "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            'headers = {"Authorization": "Bearer your-token-goes-in-here-1"}',
            'f"Authorization: Bearer {token}"',
        ),
    ),
    "database-url": Example(
        (
            "DATABASE_URL=postgres://me:<A6>7q<A6>@db.internal:5432/app",
            'url = "mongodb+srv://me:<A6>7q<A6>@cluster0.mongodb.net/"',
            "redis://:<A20>7q@cache:6379/0",
            "redis://:<A4>xPwdR<A10>7q@cache:6379/0",
            "jdbc:mysql://me:<A6>7q<A6>@db/app",
        ),
        (
            "postgres://postgres:postgres@localhost:5432/app",
            "postgresql://user:password@localhost/app",
            "postgres://me:${DB_PASSWORD}@db/app",
            "mysql://me:<password>@db/app",
            "postgres://me:<A12>@db.example.com/app",
            "postgres://localhost:5432/app?note=me@home.org",
            "amqp://guest:guest@rabbitmq:5672",
            "mysql://me:dbpwd12@db/app",
        ),
    ),
    "url-password": Example(
        (
            "git clone https://me:<A8>7q<A8>@git.internal/it.git",
            "HTTPS_PROXY=http://me:<A6>7q<A6>@proxy:3128",
            "ssh://me:<A9>q7@host",
        ),
        (
            "git@github.com:me/it.git",
            "http://localhost:3001/@whatever/path/more",
            "https://talgarr:$GITHUB_TOKEN@github.com/it",
            "https://user:password@host.org/",
            "https://me:<A12>@www.example.com/",
            "https://x-access-token:${{ secrets.TOKEN }}@github.com/it",
            "http://[::1]:8080/a@b",
        ),
    ),
    "connection-string": Example(
        (
            "Server=db;Database=app;User Id=me;Password=<A6>7q<A6>;",
            '"Data Source=db;Initial Catalog=a;User ID=me;Pwd=<A6>7q<A6>"',
        ),
        (
            "Server=db;User Id=me;Password=<password>;",
            "Server=db;Database=app;Password={0};",
            "Host=db;Username=me;Password=password",
        ),
        "src/Program.cs",
    ),
    "netrc-password": Example(
        ("machine api.me.org\n  login me\n  password <A6>7q<A6>\n",), ("machine api.me.org login me",), ".netrc"
    ),
    "secret-key-setting": Example(
        (
            'SECRET_KEY = "<j24>7<j25>"',
            "SECRET_KEY = 'django-insecure-<j24>7<j25>'",
            "app.config['SECRET_KEY'] = '<j24>7<j25>'",
            'SECRET_KEY = "$(tz)<j20>7<j25>"',
        ),
        (
            'SECRET_KEY = os.environ["DJANGO_SECRET_KEY_OF_THE_PRODUCTION_2"]',
            "SECRET_KEY = 'your-secret-key-of-at-least-40-characters-1'",
            "SECRET_KEY = '" + "*" * 50 + "'",
            'SECRET_KEY = "$(SECRET_KEY_OF_THE_PRODUCTION_OF_MY_APP_2)"',
        ),
        "src/settings.py",
    ),
    "secret-in-quotes": Example(
        (
            'API_KEY = "<A12>7<A4>3q<A12>"',
            '"client_secret": "<A12>7<A4>3q<A12>",',
            "const authToken: string = '<A12>7<A4>3q<A12>';",
            'secret_key_base: "<h128>"',
            "config['encryption_key'] = '<h14>7f<h16>'",
            'if token == "<A12>7<A4>3q<A12>":',
            'token = "<A6>7cSRF<A4>3q<A12>"',
        ),
        (
            "tokenizationId: '<h32>'",
            'token = "' + UUID + '"',
            'TOKEN_URL = "https://auth.internal/v2/oauth/token1"',
            'api_key = os.environ["SERVICE_OF_MINE_API_KEY_2"]',
            'access_token = "your-access-token-goes-here-123"',
            'password = "validationErrorPasswordTooShort2"',
            '"key": "ctrl+shift+down+alt+cmd+42"',
            'publicKeyToken="<h8>7f<h22>"',
            '"next_token": "<A12>7<A4>3q<A12>"',
            "this.unk_token=e.unk_token,this.vocab=new Array(this.tokens_to_ids_map2)",
            '"integrity": "sha512-<b86>=="',
            'secret = "sha256:<h64>"',
            "vaultKey: 'inf-vsqt-01-secret-id'",
            'password: "AgAY<b200>"',
            'secret_name = "prod/billing/stripe-2"',
            'key = "<h40>"',
        ),
    ),
    "secret-in-settings": Example(
        (
            "SECRET_KEY=<A12>7<A4>3q<A12>\n",
            "export API_TOKEN=<A12>7<A4>3q<A12>",
            "app:\n  auth_token: <A12>7<A4>3q<A12>\n",
            "ENV NPM_TOKEN=<A12>7<A4>3q<A12>\n",
            "API_TOKEN=<A6>7eTag<A4>3q<A12>\n",
        ),
        (
            "SECRET_KEY=${SECRET_KEY_OF_PRODUCTION_2}",
            "API_TOKEN=changeme-changeme-changeme-1",
            "token: " + UUID,
            "TOKEN_FILE=/run/secrets/token-of-the-app-1",
            "ANODOT_TOKEN: $(echo $ASSUME_ROLE_OUTPUT | jq -r .Credentials.SessionToken)",
            "SECRET=",
        ),
        "deploy/values.yaml",
    ),
    "password-in-quotes": Example(
        ('password = "<A4>7!q<A5>"', "DB_PASSWORD: '<A4>7!q<A5>',", '"pwd": "<A4>7!q<A5>"'),
        (
            'password = "changeme1"',
            'password = "hunter22"',
            'password: "Password123!"',
            'password = ""',
            "password = 'error.login.password2'",
            'password = f"{name}-{number}"',
            'password = "./secrets/db1.txt"',
            'passwordField = "<A4>7!q<A5>"',
            'password_hash = "$2b$12$<A22>"',
        ),
    ),
    "password-in-settings": Example(
        ("DB_PASSWORD=<A4>7!q<A5>\n", "  password: <A4>7!q<A5>\n", "export PGPASSWORD=<A4>7!q<A5>"),
        ("DB_PASSWORD=password1", "password: ${DB_PASSWORD_1}", "password: !vault |\n", "password: db-password-2"),
        "deploy/settings.ini",
    ),
}
