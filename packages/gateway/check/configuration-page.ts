/*
 * node --conditions=@deltawire/source packages/gateway/check/configuration-page.ts
 * Writes docs/configuration.md from the table of settings, the known keys of the environment and the text below.
 */
import { writeFileSync } from "node:fs";
import { knownKeys } from "../src/config/environment.ts";
import { ConfigError } from "../src/config/problems.ts";
import { readConfig } from "../src/config/read.ts";
import type { Setting } from "../src/config/setting.ts";
import { settingsOf } from "../src/config/settings.ts";

/** The page as it has to be. */
export function configurationPage(): string {
  return [
    opening,
    ...sections.flatMap(({ title, section, text }) => [
      `### ${title}`,
      ...(text === undefined ? [] : [text]),
      settingsTable(section),
    ]),
    environment,
    keysTable(),
    closing,
  ]
    .join("\n\n")
    .concat("\n");
}

/** The file that the page shows. A test reads it. */
export const example = `[server]
host = "127.0.0.1"
port = 4141
# tokens = ["env:DELTAWIRE_TOKEN"] # needed to listen beyond this machine

[clients.editor] # a client with settings of its own
token = "env:EDITOR_TOKEN"
tool_calls = "whole"

[upstreams.zai]
base_url = "https://api.z.ai/api/coding/paas/v4"
api_key = "env:ZAI_API_KEY"
speaks = "chat" # or "responses"
profile = "glm" # optional
models = ["glm-4.6"] # optional; otherwise the upstream is asked

[upstreams.local]
base_url = "http://127.0.0.1:8000/v1"
speaks = "chat"
profile = "vllm"
flags = { starts_inside_think = true } # what it does otherwise than its profile says

[upstreams.azure]
base_url = "https://example.openai.azure.com/openai"
api_key = "env:AZURE_API_KEY"
api_key_header = "api-key"
query = { api-version = "2025-04-01-preview" }
speaks = "responses"

[models] # names that clients use
glm = "zai/glm-4.6"
best = ["zai/glm-4.6", "local/qwen3-coder"] # tried in order, until the first byte
coder = { use = "local/qwen3-coder", context_window = 262_144 }
priced = { use = "zai/glm-4.6", price_input = 0.6, price_cached = 0.11, price_output = 2.2 }

[models.painter] # in chats it makes pictures
use = "azure/gpt-image-1"
type = "image-gen" # known by the name too
price_image = 0.04
options = { size = "1024x1024" }

[agents.reviewer] # reviewer is a model name too
model = "priced"
instructions = "You review changes to this project. Read before you judge." # or instructions_file = "reviewer.md"
tool_groups = ["files", "shell", "tickets"]
agents = ["librarian"] # whom it may ask for help
max_cost = 0.5

[agents.librarian]
model = "local/qwen3-coder"
description = "Finds things on the web."
tool_groups = ["web"]

[tools.files]
folder = "." # paths are seen from the folder of this file
read_only = true

[tools.shell]
allow = ["@read-only", "npm run test:*"] # everything else is asked about

[mcp.tickets]
command = "npx"
args = ["-y", "tickets-mcp"]
env = { TICKETS_TOKEN = "env:TICKETS_TOKEN" }
approval = "ask once"

[chats] # what chats have that say nothing else
model = "priced" # or agent = "reviewer"
tool_groups = ["time"]
options = { temperature = 0.7, reasoning = { effort = "low" } }
privacy = ["email", "key"] # masked before a model is told

[skills.letters]
file = "skills/letters.md"
when = "A letter or an e-mail is to be written." # or always = true

[store]
keep_days = 30
`;

/** One that is refused. */
const faulty = `[server]
prot = 4141

[upstreams.zai]
base_url = "https://api.z.ai/api/coding/paas/v4"
profile = "gml"

[models]
best = ["zia/glm-4.6"]
`;

const folders = table(
  ["system", "the user's folder"],
  [
    ["Linux", "`$XDG_CONFIG_HOME/deltawire`, usually `~/.config/deltawire`"],
    ["macOS", "the same, then `~/Library/Application Support/deltawire`"],
    ["Windows", "`%APPDATA%\\deltawire`"],
  ],
);

const opening = `# Configuration

<!-- Written by packages/gateway/check/configuration-page.ts from the table in src/config/settings.ts: change it there. -->

Deltawire reads one TOML file: \`--config FILE\`, else \`deltawire.toml\` in the working folder, else in the user's folder.

${folders}

\`\`\`toml
${example}\`\`\`

\`upstream/model\`, such as \`zai/glm-4.6\`, always works as a model name; \`[models]\` adds shorter ones.

Keys and tokens are best written as \`"env:NAME"\`: the value of an environment variable. A text without \`env:\` is the key
itself. Neither is ever part of a message.

A file with something wrong in it is refused, with everything that is wrong, a line each:

\`\`\`toml
${faulty}\`\`\`

\`\`\`text
${refusal()}
\`\`\`

## Settings`;

function refusal(): string {
  try {
    readConfig(faulty, { file: "deltawire.toml", env: {} });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("the faulty example is good");
}

const sections: readonly { title: string; section: string; text?: string }[] = [
  {
    title: "`[server]`",
    section: "server",
    text: "To listen on anything but loopback, there has to be a token of at least 16 characters.",
  },
  {
    title: "`[clients.NAME]`",
    section: "clients.*",
    text: "A client with a token and settings of its own. The name stands in the log. It cannot be `token 1`, `token 2` and so on, which are the names of the tokens of `[server]`: what is stored for a client is found by its name.",
  },
  {
    title: "`[upstreams.NAME]`",
    section: "upstreams.*",
    text: "A server with models. The name has letters, digits, `-`, `_` and `.`; `demo` is the built-in one's.",
  },
  {
    title: "`[upstreams.NAME.flags]`",
    section: "upstreams.*.flags",
    text: "Single flags over the profile; [profiles.md](profiles.md) says more. Those that are not set are as the profile has them.",
  },
  {
    title: "`[models]`",
    section: "models.*",
    text: 'A name leads to `"upstream/model"`, to a list of them, or to a table with these settings. A price belongs to a name: what is asked for as `upstream/model` has none, and a list has one price for all; `price_image` stands alone only with a model that makes pictures. What is not said of a model is known by the name of the first one behind it.',
  },
  {
    title: "`[agents.NAME]`",
    section: "agents.*",
    text: "An agent of the task runtime. The name begins with a letter and has letters, digits, `-` and `_`. It is a model name too, so it must not be one of `[models]`.",
  },
  {
    title: "`[tools.files]`",
    section: "tools.files",
    text: "Paths here and below are seen from the folder of the configuration; `~` is the user's home folder.",
  },
  {
    title: "`[tools.shell]`",
    section: "tools.shell",
    text: 'Every command is asked about, but for those of `allow`: `approval = "auto"` is refused here.',
  },
  { title: "`[tools.web]`", section: "tools.web" },
  { title: "`[tools.time]` and `[tools.agents]`", section: "tools.time" },
  {
    title: "`[mcp.NAME]`",
    section: "mcp.*",
    text: "A server of tools that speaks MCP, with either a `command` or a `url`. Its name is that of a tool group.",
  },
  {
    title: "`[chats]`",
    section: "chats",
    text: "What chats have that say nothing else, those from before included. `model`, `input`, `messages`, `instructions`, `tools`, `stream`, `background`, `store`, `include`, `conversation`, `previous_response_id`, `prompt`, `stream_options`, `client_metadata` and `n` are no `options`, here, in `[models]` and in `[agents.NAME]`: the gateway sets them.",
  },
  {
    title: "`[skills.NAME]`",
    section: "skills.*",
    text: "A text that chats can have, with either `when` or `always = true`. The name begins with a letter and has letters, digits, `-` and `_`.",
  },
  {
    title: "`[store]`",
    section: "store",
    text: "Where tasks are kept.",
  },
];

const environment = `## Providers of a Codex configuration

\`[model_providers.NAME]\` tables of Codex's \`config.toml\` may stand in the file, or that file itself may be given with
\`--config\`: settings of Codex that are none of Deltawire's are passed over. Each provider becomes an upstream that speaks
\`responses\`, with its \`base_url\`, \`env_key\`, \`experimental_bearer_token\`, \`http_headers\`, \`env_http_headers\`,
\`query_params\`, \`request_max_retries\` and \`stream_idle_timeout_ms\`. What Codex refuses is refused, in its words:
\`wire_api = "chat"\` above all. One that leads to this gateway is refused too. One that signs in as only Codex can (a
login, a command, AWS) is left out with a warning.

## Without a file

\`--upstream URL\` serves one upstream, named after its host, and \`local\` on this machine. \`--api-key-env NAME\`,
\`--speaks chat|responses\` (\`chat\` if not given) and \`--profile NAME\` say more of it. Beside a file it is one upstream
more. \`--host\`, \`--port\` and \`--data FOLDER\` (in place of \`[store] path\`) win over the file.

Without \`--upstream\` too, every key of this table that is set in the environment is an upstream. With none at all, the
built-in demo is served.`;

const closing = `A key for another region of a provider needs a file, for it has another address. \`OPENAI_API_KEY\` is not used when
\`OPENAI_BASE_URL\` names another server.`;

function settingsTable(section: string): string {
  const rows = [...settingsOf(section)].map(([name, setting]) => [
    `\`${name}\``,
    typeText(setting),
    defaultText(setting),
    setting.description,
  ]);
  // The flags of a profile all have the same.
  const columns = rows.every(([, , usual]) => usual === "") ? [0, 1, 3] : [0, 1, 2, 3];
  const head = ["setting", "type", "without it", "meaning"];
  return table(
    pick(head, columns),
    rows.map((row) => pick(row, columns)),
  );
}

function pick(row: readonly string[], columns: readonly number[]): string[] {
  return columns.map((column) => row[column] ?? "");
}

function typeText({ type, words, least, most }: Setting): string {
  const list = words?.map((word) => `\`"${word}"\``).join(", ");
  switch (type) {
    case "word":
      return list ?? "";
    case "list of words":
      return `a list of ${list}`;
    case "word or list":
      return `${list}, or a list of texts`;
    case "integer":
    case "number":
      return `${type === "integer" ? "a whole number" : "a number"}${rangeText(least, most)}`;
    default:
      return typeNames[type];
  }
}

function rangeText(least: number | undefined, most: number | undefined): string {
  if (most !== undefined) return `, ${least} to ${most}`;
  return least === undefined ? "" : `, at least ${least}`;
}

const typeNames = {
  string: "a text",
  secret: '`"env:NAME"`, or a text',
  boolean: "`true`, `false`",
  "list of strings": "a list of texts",
  "list of secrets": 'a list of `"env:NAME"`, or of texts',
  "string or list": "a text, or a list of texts",
  "table of strings": "a table of texts",
  "table of secrets": 'a table of texts, or of `"env:NAME"`',
  "table of variables": 'a table of texts, or of `"env:NAME"`',
  table: "a table",
  "JSON table": "a table",
} as const;

function defaultText(setting: Setting): string {
  if (setting.required !== undefined) return "an error";
  if (setting.otherwise !== undefined) return setting.otherwise;
  const usual = setting.default;
  if (usual === undefined) return "";
  return typeof usual === "object" ? "none" : `\`${JSON.stringify(usual)}\``;
}

function keysTable(): string {
  return table(
    ["variable", "upstream", "address", "speaks", "profile"],
    knownKeys.map(({ variable, name, baseUrl, speaks, profile }) =>
      [variable, name, baseUrl, speaks, profile].map((text) => `\`${text}\``),
    ),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  return [head, head.map(() => "---"), ...rows].map(line).join("\n");
}

if (import.meta.main)
  writeFileSync(new URL("../../../docs/configuration.md", import.meta.url), configurationPage());
