import { parseArgs } from "node:util";
import { didYouMean } from "@deltawire/tasks";
import { loadConfig } from "../config/load-config.ts";
import { parseBody } from "../parse-body.ts";
import { accessScopes, type AccessScope } from "../security/access-scopes.ts";
import {
  newAccessKeyBody,
  type AccessKeyReply,
  type NewAccessKeyBody,
} from "../security/manage-access-keys.ts";
import { formatCommandLine, getCommandName, type Terminal } from "../terminal.ts";
import { openKeyAdministration } from "./key-administration.ts";
import { cliOptions } from "./options.ts";
import { explainFlagError, UsageError } from "./parse-arguments.ts";

const actions = ["create", "list", "revoke", "remove"] as const;

type KeysFlags = ReturnType<typeof parseKeysArguments>["values"];

/** Manages access keys, through the running gateway or directly in the store. Returns the exit code. */
export async function runKeysCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseKeysArguments(args);
  const [word = "", name, ...rest] = positionals;
  const action = actions.find((known) => known === word);
  if (action === undefined) {
    const problem =
      word === "" ? "keys needs an action" : `unknown action "${word}"${didYouMean(word, actions)}`;
    throw new UsageError(
      `${problem}; use create, list, revoke or remove (keys --help shows examples)`,
    );
  }
  const [extra] = action === "list" ? positionals.slice(1) : rest;
  if (extra !== undefined)
    throw new UsageError(`keys ${action}: unexpected argument "${extra}"; quote names with spaces`);
  if (action !== "list" && name === undefined)
    throw new UsageError(`keys ${action} needs the name of a key; keys --help shows examples`);
  assertFlagsFit(action, values);
  // Checked before anything is opened.
  const body = action === "create" ? parseNewKey(name ?? "", values, Date.now()) : undefined;
  const { config } = loadConfig(values, terminal);
  const administration = await openKeyAdministration(config, values.data, terminal, {
    createsKey: body !== undefined,
  });
  const { stdout, stderr } = terminal;
  const isJson = values.json === true;
  try {
    if (body !== undefined) {
      const newKey = await administration.create(body);
      const isFirst = (await administration.list()).length === 1;
      // Only the key, so that scripts can read it.
      stdout.write(isJson ? `${JSON.stringify(newKey)}\n` : `${newKey.key}\n`);
      if (!isJson) stderr.write(`${describeCreatedKey(newKey)}\n`);
      stderr.write(`Store: ${administration.location}\n`);
      if (newKey.owner_existed === true) stderr.write(formatOwnerNotice(newKey.owner));
      const hasBudget = (newKey.limits.cost_per_day ?? newKey.limits.cost_per_month) !== undefined;
      if (hasBudget && ![...config.models.values()].some(({ price }) => price !== undefined))
        stderr.write(noPriceWarning);
      if (isFirst && config.server.clients.length === 0)
        stderr.write(formatFirstKeyNotice(getCommandName(terminal.env)));
    } else if (action === "list") {
      const keys = await administration.list();
      const command = getCommandName(terminal.env);
      stdout.write(isJson ? `${JSON.stringify({ keys })}\n` : formatKeys(keys, command));
      if (keys.length === 0) stderr.write(`Store: ${administration.location}\n`);
    } else if (action === "revoke") {
      const revokedKey = await administration.revoke(name ?? "");
      stdout.write(
        isJson
          ? `${JSON.stringify(revokedKey)}\n`
          : `Revoked the access key "${revokedKey.name}". Gateways reject it within 4 s.\n`,
      );
    } else {
      await administration.remove(name ?? "");
      const isLast = (await administration.list()).length === 0;
      stdout.write(isJson ? "{}\n" : `Removed the access key "${name}".\n`);
      if (isLast && config.server.clients.length === 0) stderr.write(lastKeyNotice);
    }
    return 0;
  } finally {
    await administration.close();
  }
}

const formatFirstKeyNotice = (command: string): string =>
  `This is the first key: within 4 s, all requests need a key. Clients and pages that send none get a 401 from then on; give\neach a key of its own (${command} keys create NAME), or set server.tokens and give it one of them. Existing chats and tasks do\nnot belong to any key; to open them, sign in with a token of server.tokens. To undo this: ${command} keys revoke, then keys remove.\n`;
const noPriceWarning =
  "Warning: a key with a budget can only use models with a price, and no model in [models] has one. Set price_input and price_output\nof a model, or limit the tokens instead (--tokens-per-day).\n";
const formatOwnerNotice = (owner: string): string =>
  `The owner "${owner}" already exists: the key can access all chats, tasks and files of this owner. For separate data, choose another\nname or --owner.\n`;
const lastKeyNotice = "No keys are left: from now on, requests need none.\n";

const creationFlags = [
  "owner",
  "scopes",
  "expires",
  "requests-per-minute",
  "tokens-per-day",
  "cost-per-day",
  "cost-per-month",
] as const;

function parseKeysArguments(args: readonly string[]) {
  const { config, host, port, data, json } = cliOptions;
  const text = { type: "string" } as const;
  const options = {
    config,
    host,
    port,
    data,
    json,
    owner: text,
    scopes: text,
    expires: text,
    "requests-per-minute": text,
    "tokens-per-day": text,
    "cost-per-day": text,
    "cost-per-month": text,
  };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const problem = explainFlagError(error as NodeJS.ErrnoException, Object.keys(options));
    throw new UsageError(`${problem}; keys --help lists the flags`);
  }
}

function assertFlagsFit(action: (typeof actions)[number], flags: KeysFlags): void {
  const unused = creationFlags.find((flag) => flags[flag] !== undefined);
  if (action !== "create" && unused !== undefined)
    throw new UsageError(`--${unused} only works with keys create`);
}

/** Returns the request for a new key. Throws a UsageError for an invalid name or flag. */
function parseNewKey(name: string, flags: KeysFlags, now: number): NewAccessKeyBody {
  const { owner, scopes, expires } = flags;
  const limits = {
    ...parseLimit(flags, "requests-per-minute", "requests_per_minute"),
    ...parseLimit(flags, "tokens-per-day", "tokens_per_day"),
    ...parseLimit(flags, "cost-per-day", "cost_per_day"),
    ...parseLimit(flags, "cost-per-month", "cost_per_month"),
  };
  const body = {
    name,
    ...(owner === undefined ? {} : { owner }),
    ...(scopes === undefined ? {} : { scopes: parseScopes(scopes) }),
    ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
  try {
    return parseBody(newAccessKeyBody, body);
  } catch (error) {
    throw new UsageError(`keys create: ${(error as Error).message}`, { cause: error });
  }
}

function parseScopes(text: string): AccessScope[] {
  return text.split(",").map((word) => {
    const scope = accessScopes.find((known) => known === word.trim());
    if (scope !== undefined) return scope;
    throw new UsageError(
      `--scopes: unknown scope "${word.trim()}"${didYouMean(word.trim(), accessScopes)}; use one or more of ${accessScopes.join(",")}`,
    );
  });
}

const durationMs = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Parses a duration such as `30d`, or a date. */
function parseExpiry(text: string, now: number): string {
  if (/^\d+m$/.test(text))
    throw new UsageError(
      `--expires: "${text}" could mean minutes or months; use hours, days or weeks, such as 12h, 30d or 8w`,
    );
  const [, amount, unit] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const time =
    amount === undefined
      ? parseDate(text)
      : now + Number(amount) * durationMs[unit as keyof typeof durationMs];
  if (time === undefined)
    throw new UsageError(
      `--expires: expected a duration such as 12h, 30d or 8w, or a date such as 2030-01-31, got "${text}"`,
    );
  if (time <= now) throw new UsageError(`--expires: expected a time in the future, got "${text}"`);
  return new Date(time).toISOString();
}

function parseDate(text: string): number | undefined {
  const [, day] = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  const time = Date.parse(text);
  if (day === undefined || Number.isNaN(time)) return undefined;
  // JavaScript accepts the 31st of every month.
  return new Date(Date.parse(day)).toISOString().startsWith(day) ? time : undefined;
}

function parseLimit<Field extends string>(
  flags: KeysFlags,
  flag: "requests-per-minute" | "tokens-per-day" | "cost-per-day" | "cost-per-month",
  field: Field,
): { [Name in Field]?: number } {
  const text = flags[flag];
  if (text === undefined) return {};
  const value = Number(text);
  const isCost = flag.startsWith("cost");
  const isValid = isCost ? value > 0 && Number.isFinite(value) : Number.isSafeInteger(value);
  if (text.trim() === "" || !isValid || value <= 0)
    throw new UsageError(
      `--${flag}: expected a ${isCost ? "number" : "whole number"} above 0, got "${text}"`,
    );
  return { [field]: value } as { [Name in Field]?: number };
}

function describeCreatedKey(key: AccessKeyReply): string {
  const details = [
    ...(key.owner === key.name ? [] : [`owner ${key.owner}`]),
    `scopes ${key.scopes.join(", ")}`,
    ...(key.expires_at === undefined ? [] : [`expires ${key.expires_at}`]),
    ...formatLimits(key),
  ];
  return `Created the access key "${key.name}" (${details.join("; ")}). Save it now: it is not shown again.`;
}

function formatKeys(keys: readonly AccessKeyReply[], command: string): string {
  if (keys.length === 0)
    return `No access keys. Create one with: ${formatCommandLine(command, "keys create NAME")}\n`;
  const header = [
    "NAME",
    "ID",
    "KEY",
    "OWNER",
    "SCOPES",
    "STATE",
    "LAST USED",
    "EXPIRES",
    "LIMITS",
  ];
  const rows = keys.map((key) => [
    key.name,
    key.id,
    `…${key.last_characters}`,
    key.owner,
    key.scopes.join(","),
    key.state,
    formatTime(key.last_used_at, "never"),
    formatTime(key.expires_at, "never"),
    formatLimits(key).join("; ") || "none",
  ]);
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return [header, ...rows]
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function formatTime(time: string | undefined, missing: string): string {
  return time === undefined ? missing : time.slice(0, 16).replace("T", " ");
}

function formatLimits({ limits }: AccessKeyReply): string[] {
  const { requests_per_minute, tokens_per_day, cost_per_day, cost_per_month } = limits;
  return [
    ...(requests_per_minute === undefined ? [] : [`${requests_per_minute} requests/minute`]),
    ...(tokens_per_day === undefined ? [] : [`${tokens_per_day} tokens/day`]),
    ...(cost_per_day === undefined ? [] : [`cost ${cost_per_day}/day`]),
    ...(cost_per_month === undefined ? [] : [`cost ${cost_per_month}/month`]),
  ];
}
