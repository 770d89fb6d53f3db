import { chatSettingDefinitions } from "./chat-settings.ts";
import { messagesFlagSettings } from "./messages-flag-settings.ts";
import { profileFlagSettings } from "./profile-flags.ts";
import type { Setting, SettingValues } from "./setting.ts";
import { taskSettingDefinitions } from "./task-settings.ts";

/*
 * Every setting, as data. Decoding, error messages and docs/reference/configuration.md come from this table.
 */

const typedSettings = [
  {
    path: "server.host",
    type: "string",
    default: "127.0.0.1",
    description: "The address to listen on. Any address other than loopback requires a token.",
  },
  {
    path: "server.port",
    type: "integer",
    default: 4141,
    min: 0,
    max: 65_535,
    description: "The port to listen on; 0 chooses a free one.",
  },
  {
    path: "server.tokens",
    type: "list of secrets",
    default: [],
    description: "Tokens of clients that are not listed in [clients].",
  },
  {
    path: "server.allowed_hosts",
    type: "list of strings",
    default: [],
    description:
      "Additional host names of the gateway. Requests with other Host headers are rejected.",
  },
  {
    path: "server.cors_origins",
    type: "list of strings",
    default: [],
    description:
      "Origins of web pages that may call the gateway, such as https://chat.example.org.",
  },
  {
    path: "server.max_body_mb",
    type: "number",
    default: 64,
    min: 0.001,
    max: 1024,
    description: "The maximum size of a request body in megabytes, after decompression.",
  },
  {
    path: "server.max_json_values",
    type: "integer",
    default: 250_000,
    min: 1000,
    max: 10_000_000,
    description:
      "The maximum number of values and property names in a JSON request; a number counts as half.",
  },
  {
    path: "server.drain_seconds",
    type: "number",
    default: 30,
    min: 0,
    max: 3600,
    description: "How long open streams may continue after SIGTERM.",
  },
  {
    path: "server.log_level",
    type: "enum",
    default: "info",
    values: ["debug", "info", "warn", "error", "silent"],
    description: "The lowest level that is logged.",
  },
  {
    path: "server.sealing_key",
    type: "secret",
    defaultDescription: "a random key in the data folder or the PostgreSQL database",
    description:
      "Encrypts reasoning that clients store; at least 32 characters, the same for all processes.",
  },
  {
    path: "server.demo",
    type: "boolean",
    defaultDescription: "only if there is no other upstream",
    description: "Serve the built-in demo upstream.",
  },
  {
    path: "clients.*.token",
    type: "secret",
    required: 'write token = "env:NAME"',
    description: "The token of the client.",
  },
  {
    path: "clients.*.tool_calls",
    type: "enum",
    default: "deltas",
    values: ["deltas", "complete"],
    formerValues: { whole: "complete" },
    description: "Stream tool calls to a Chat client as deltas, or each in one chunk.",
  },
  {
    path: "clients.*.reasoning",
    type: "enum",
    default: "summary",
    values: ["summary", "raw"],
    formerValues: { text: "raw" },
    description: "Send reasoning as summary events, which every client supports, or as raw text.",
  },
  {
    path: "upstreams.*.base_url",
    type: "string",
    required:
      'write base_url = "https://…", to which /chat/completions, /responses or /messages is appended',
    description: "The URL to which /chat/completions, /responses or /messages is appended.",
  },
  {
    path: "upstreams.*.speaks",
    type: "enum",
    values: ["chat", "responses", "messages", "auto"],
    required: 'write speaks = "chat", "responses" or "messages"',
    description: "The API that the upstream implements; auto learns it for each model.",
  },
  {
    path: "upstreams.*.api_key",
    type: "secret",
    defaultDescription: "no key is sent",
    description: "The API key.",
  },
  {
    path: "upstreams.*.api_key_header",
    type: "string",
    defaultDescription: "authorization; x-api-key for the profile anthropic with Messages",
    description:
      "The header that carries the key: `Bearer KEY` in authorization, only the key in any other header.",
  },
  {
    path: "upstreams.*.profile",
    type: "string",
    default: "generic",
    description:
      "The name of the provider profile that describes the upstream's quirks; see profiles.md.",
  },
  {
    path: "upstreams.*.models",
    type: "list of strings",
    defaultDescription: "fetched from the upstream",
    description: "The models of the upstream.",
  },
  {
    path: "upstreams.*.headers",
    type: "table of secrets",
    default: {},
    description: "Headers to send with every request.",
  },
  {
    path: "upstreams.*.query",
    type: "table of strings",
    default: {},
    description: "Query parameters to send with every request, such as api-version.",
  },
  {
    path: "upstreams.*.connect_timeout_seconds",
    type: "number",
    default: 10,
    min: 0.1,
    max: 600,
    description: "The time limit for opening a connection.",
  },
  {
    path: "upstreams.*.idle_timeout_seconds",
    type: "number",
    default: 300,
    min: 1,
    max: 86_400,
    description: "The maximum time without data, before and during a reply.",
  },
  {
    path: "upstreams.*.retries",
    type: "integer",
    default: 2,
    min: 0,
    max: 10,
    description: "The maximum number of retries before the first byte of a reply.",
  },
  {
    path: "upstreams.*.flags",
    type: "table",
    default: {},
    description: "Flags that override those of the profile.",
  },
  {
    path: "upstreams.*.messages_flags",
    type: "table",
    default: {},
    description: "Flags for an upstream that speaks Messages, overriding those of the profile.",
  },
  {
    path: "models.*.use",
    type: "string or list",
    required: 'write use = "upstream/model", or a list that is tried in order',
    description: "The upstream/model behind the name, or a list that is tried in order.",
  },
  {
    path: "models.*.context_window",
    type: "integer",
    defaultDescription: "the upstream's",
    min: 1,
    description:
      "The context window in tokens. Codex and Claude Code compact their history accordingly.",
  },
  {
    path: "models.*.max_output_tokens",
    type: "integer",
    defaultDescription: "learned from the upstream",
    min: 1,
    description:
      "The most output tokens that are requested. A higher limit of a client is lowered.",
  },
  {
    path: "models.*.price_input",
    type: "number",
    defaultDescription: "unknown",
    min: 0,
    description: "The price of a million input tokens, in the currency of max_cost.",
  },
  {
    path: "models.*.price_cached",
    type: "number",
    defaultDescription: "price_input",
    min: 0,
    description: "The price of a million input tokens from the cache of the provider.",
  },
  {
    path: "models.*.price_output",
    type: "number",
    defaultDescription: "unknown",
    min: 0,
    description: "The price of a million output tokens, including reasoning.",
  },
  {
    path: "models.*.price_image",
    type: "number",
    defaultDescription: "unknown",
    min: 0,
    description: "The price of a generated image, in addition to its tokens.",
  },
  {
    path: "models.*.type",
    type: "enum",
    defaultDescription: 'guessed from the name, else "chat"',
    values: ["chat", "image-gen", "image-edit", "audio-stt", "audio-tts"],
    description:
      "What the model does: chat, generate images, edit images, transcribe audio, or read text aloud.",
  },
  {
    path: "models.*.input_modalities",
    formerName: "takes",
    type: "list of enums",
    defaultDescription: "guessed from the name",
    values: ["image", "audio", "pdf"],
    description:
      "The input that the model accepts in addition to text. Chats convert or omit other attachments.",
  },
  {
    path: "models.*.tools",
    type: "boolean",
    defaultDescription: "guessed from the name",
    description: "The model can call tools. If not, chats do not offer any.",
  },
  {
    path: "models.*.options",
    type: "JSON table",
    default: {},
    description: "Request parameters in chats, such as temperature, by their Responses names.",
  },
  ...taskSettingDefinitions,
  ...chatSettingDefinitions,
] as const satisfies readonly Setting[];

export const settingDefinitions: readonly Setting[] = [
  ...typedSettings,
  ...profileFlagSettings,
  ...messagesFlagSettings,
];

/** The tables with settings. */
export type ConfigSection =
  | "server"
  | "clients.*"
  | "upstreams.*"
  | "models.*"
  | "agents.*"
  | "tools.files"
  | "tools.shell"
  | "tools.web"
  | "tools.time"
  | "tools.agents"
  | "mcp.*"
  | "chats"
  | "skills.*"
  | "store"
  | "bus";

/** The decoded settings of a section by name, with defaults filled in. */
export type DecodedSection<S extends ConfigSection> = {
  readonly [
    Definition in (typeof typedSettings)[number] as SettingName<S, Definition["path"]>
  ]: SettingValue<Definition>;
};

type SettingName<S extends ConfigSection, Path extends string> = Path extends `${S}.${infer Name}`
  ? Name
  : never;

type SettingValue<Definition extends Setting> =
  | (Definition extends { values: readonly (infer Value)[]; type: "enum" }
      ? Value
      : Definition extends { values: readonly (infer Value)[]; type: "list of enums" }
        ? readonly Value[]
        : SettingValues[Definition["type"]])
  | (Definition extends { default: unknown } ? never : undefined);

/** Returns the settings of a table such as `upstreams.*.flags`, by name. */
export function getSectionSettings(section: string): ReadonlyMap<string, Setting> {
  const prefix = `${section}.`;
  return new Map(
    settingDefinitions
      .filter(({ path }) => path.startsWith(prefix) && !path.slice(prefix.length).includes("."))
      .map((setting) => [setting.path.slice(prefix.length), setting]),
  );
}
