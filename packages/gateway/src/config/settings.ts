import { chatSettings } from "./chat-settings.ts";
import { flagSettings } from "./profile-flags.ts";
import type { Setting, SettingValues } from "./setting.ts";
import { taskSettings } from "./task-settings.ts";

/*
 * Every setting, as data: the file is decoded by this table, errors are worded by it, and docs/configuration.md is
 * printed from it.
 */

const described = [
  {
    path: "server.host",
    type: "string",
    default: "127.0.0.1",
    description: "The address to listen on; anything but loopback needs a token.",
  },
  {
    path: "server.port",
    type: "integer",
    default: 4141,
    least: 0,
    most: 65_535,
    description: "The port to listen on; 0 takes a free one.",
  },
  {
    path: "server.tokens",
    type: "list of secrets",
    default: [],
    description: "Tokens of clients that need no settings of their own.",
  },
  {
    path: "server.allowed_hosts",
    type: "list of strings",
    default: [],
    description:
      "Further names under which the gateway is reached, for the check of the Host header.",
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
    least: 0.001,
    most: 1024,
    description: "The largest request body in megabytes, unpacked.",
  },
  {
    path: "server.max_json_values",
    type: "integer",
    default: 250_000,
    least: 1000,
    most: 10_000_000,
    description:
      "The most objects, arrays, strings and property names in a request's JSON; numbers count half.",
  },
  {
    path: "server.drain_seconds",
    type: "number",
    default: 30,
    least: 0,
    most: 3600,
    description: "How long open streams may go on after SIGTERM.",
  },
  {
    path: "server.log_level",
    type: "word",
    default: "info",
    words: ["debug", "info", "warn", "error", "silent"],
    description: "The least important messages that are still logged.",
  },
  {
    path: "server.demo",
    type: "boolean",
    otherwise: "only when there is no other upstream",
    description: "Whether the built-in demo upstream is served.",
  },
  {
    path: "clients.*.token",
    type: "secret",
    required: 'write token = "env:NAME"',
    description: "The token by which this client is known.",
  },
  {
    path: "clients.*.tool_calls",
    type: "word",
    default: "deltas",
    words: ["deltas", "whole"],
    description: "A Chat client gets tool calls in deltas, or each in one piece.",
  },
  {
    path: "clients.*.reasoning",
    type: "word",
    default: "summary",
    words: ["summary", "text"],
    description: "Reasoning as summary events, which every client knows, or as raw text.",
  },
  {
    path: "upstreams.*.base_url",
    type: "string",
    required:
      'write base_url = "https://…", the address to which /chat/completions or /responses is added',
    description: "The address to which /chat/completions or /responses is added.",
  },
  {
    path: "upstreams.*.speaks",
    type: "word",
    words: ["chat", "responses"],
    required: 'write speaks = "chat" or speaks = "responses"; it is never guessed',
    description: "The wire that the upstream speaks; it is never guessed.",
  },
  {
    path: "upstreams.*.api_key",
    type: "secret",
    otherwise: "no key is sent",
    description: "The upstream's key.",
  },
  {
    path: "upstreams.*.api_key_header",
    type: "string",
    default: "authorization",
    description:
      "The header of the key; authorization sends Bearer KEY, another one the key alone.",
  },
  {
    path: "upstreams.*.profile",
    type: "string",
    default: "generic",
    description: "How the upstream differs, by its provider's name in profiles.md.",
  },
  {
    path: "upstreams.*.models",
    type: "list of strings",
    otherwise: "the upstream is asked",
    description: "The models that it serves.",
  },
  {
    path: "upstreams.*.headers",
    type: "table of secrets",
    default: {},
    description: "Headers that are sent with every request.",
  },
  {
    path: "upstreams.*.query",
    type: "table of strings",
    default: {},
    description: "Parameters that are added to every address, such as api-version.",
  },
  {
    path: "upstreams.*.connect_timeout_seconds",
    type: "number",
    default: 10,
    least: 0.1,
    most: 600,
    description: "How long a connection may take to open.",
  },
  {
    path: "upstreams.*.idle_timeout_seconds",
    type: "number",
    default: 300,
    least: 1,
    most: 86_400,
    description: "The longest silence in a reply, and before it.",
  },
  {
    path: "upstreams.*.retries",
    type: "integer",
    default: 2,
    least: 0,
    most: 10,
    description: "How often a request is tried again before its first byte.",
  },
  {
    path: "upstreams.*.flags",
    type: "table",
    default: {},
    description: "What the upstream does otherwise than its profile says.",
  },
  {
    path: "models.*.use",
    type: "string or list",
    required: 'write use = "upstream/model", or a list that is tried in order',
    description: "The model behind the name as upstream/model, or several, tried in order.",
  },
  {
    path: "models.*.context_window",
    type: "integer",
    otherwise: "as the upstream says",
    least: 1,
    description: "The context window in tokens that Codex is told, which compacts by it.",
  },
  {
    path: "models.*.price_input",
    type: "number",
    otherwise: "not known",
    least: 0,
    description: "The price of a million tokens that are sent, in the currency of max_cost.",
  },
  {
    path: "models.*.price_cached",
    type: "number",
    otherwise: "as price_input",
    least: 0,
    description: "The price of a million sent tokens that the provider had in its cache.",
  },
  {
    path: "models.*.price_output",
    type: "number",
    otherwise: "not known",
    least: 0,
    description: "The price of a million tokens that the model writes, its reasoning included.",
  },
  {
    path: "models.*.price_image",
    type: "number",
    otherwise: "not known",
    least: 0,
    description: "The price of a picture that the model makes, beside that of its tokens.",
  },
  {
    path: "models.*.type",
    type: "word",
    otherwise: 'as its name is known, else "chat"',
    words: ["chat", "image-gen", "image-edit", "audio-stt", "audio-tts"],
    description:
      "What it makes: answers, pictures, changed pictures, texts of speech, or speech of texts.",
  },
  {
    path: "models.*.takes",
    type: "list of words",
    otherwise: "as its name is known",
    words: ["image", "audio", "pdf"],
    description: "What it takes beside text; the rest is converted in chats, or left out.",
  },
  {
    path: "models.*.tools",
    type: "boolean",
    otherwise: "as its name is known",
    description: "Whether it can call tools; chats do not offer any to a model that cannot.",
  },
  {
    path: "models.*.options",
    type: "JSON table",
    default: {},
    description:
      "Parameters of requests in chats, such as temperature, by their names on the Responses wire.",
  },
  ...taskSettings,
  ...chatSettings,
] as const satisfies readonly Setting[];

export const settings: readonly Setting[] = [...described, ...flagSettings];

/** The tables that hold settings. */
export type Section =
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
  | "store";

/** The settings of a section by name, decoded and with defaults filled in. */
export type Decoded<S extends Section> = {
  readonly [Line in (typeof described)[number] as NameIn<S, Line["path"]>]: ValueOf<Line>;
};

type NameIn<S extends Section, Path extends string> = Path extends `${S}.${infer Name}`
  ? Name
  : never;

type ValueOf<Line extends Setting> =
  | (Line extends { words: readonly (infer Word)[]; type: "word" }
      ? Word
      : Line extends { words: readonly (infer Word)[]; type: "list of words" }
        ? readonly Word[]
        : SettingValues[Line["type"]])
  | (Line extends { default: unknown } ? never : undefined);

/** The settings of a table such as `upstreams.*.flags`, by name. */
export function settingsOf(section: string): ReadonlyMap<string, Setting> {
  const start = `${section}.`;
  return new Map(
    settings
      .filter(({ path }) => path.startsWith(start) && !path.slice(start.length).includes("."))
      .map((setting) => [setting.path.slice(start.length), setting]),
  );
}
