import type { Table } from "../config/decode.ts";
import type { ModelUse } from "./codex-models.ts";
import { providersOf } from "./codex-provider.ts";
import type { Bearer } from "./gateway-file.ts";
import type { Move } from "./moved-upstream.ts";

export interface NotesInput {
  readonly config: Table;
  readonly moves: readonly Move[];
  readonly uses: readonly ModelUse[];
  readonly bearer: Bearer;
  readonly isProxied: boolean;
}

/** What a user should know of a migration, or do after it. */
export function migrationNotes({ config, moves, uses, bearer, isProxied }: NotesInput): string[] {
  const notes = moves.flatMap(({ id, newId, upstream, added }) => [
    ...(newId === id ? [] : [`${id} is a provider of Codex's own: yours is called ${newId} now.`]),
    ...(upstream === undefined || added !== undefined
      ? []
      : [`deltawire.toml has ${upstream} with that address already, and it is left as it is.`]),
    ...(added === undefined || added.name === id
      ? []
      : [`deltawire.toml has no room for the name ${id}: the upstream is called ${added.name}.`]),
    ...(added?.notes ?? []),
  ]);
  const inUse = moves.find(({ id }) => id === config["model_provider"]);
  if (inUse?.upstream !== undefined && !uses.some(({ path }) => path[0] === "model"))
    notes.push(
      `No model is set: Codex takes the first of the gateway's list, unless you write model = "${inUse.upstream}/MODEL".`,
    );
  if ("variable" in bearer)
    notes.push(`The gateway asks for a token: set ${bearer.variable} to it where Codex runs, too.`);
  if (isProxied)
    notes.push(
      "A proxy is set in the environment: add 127.0.0.1 to NO_PROXY, or Codex asks it for the gateway.",
    );
  return [...notes, ...notesOnRest(config)];
}

/** What else a configuration from the days of the Chat wire may have. */
export function notesOnRest(config: Table): string[] {
  const notes = providersOf(config).flatMap(([id, table]) =>
    table["wire_api"] === undefined && typeof table["base_url"] === "string"
      ? [
          `model_providers.${id} has no wire_api. Codex took that for "chat" once and takes it for "responses" now: if its server speaks Chat only, write wire_api = "chat" there and migrate again.`,
        ]
      : [],
  );
  const profile = config["profile"];
  if (typeof profile === "string")
    notes.push(
      `Codex no longer starts with profile = "${profile}": move [profiles.${profile}] into ${profile}.config.toml beside it, remove the line, and run codex --profile ${profile}.`,
    );
  return notes;
}
