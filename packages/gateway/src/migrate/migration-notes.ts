import type { TomlTable } from "../config/decode-section.ts";
import type { CodexModelUse } from "./codex-models.ts";
import { listProviders } from "./codex-provider.ts";
import type { BearerSource } from "./gateway-config.ts";
import type { ProviderMigration } from "./migrated-upstream.ts";

export interface MigrationNotesInput {
  readonly config: TomlTable;
  readonly migrations: readonly ProviderMigration[];
  readonly uses: readonly CodexModelUse[];
  readonly bearer: BearerSource;
  readonly isProxied: boolean;
}

/** Returns notes for the user: side effects of the migration, and remaining steps. */
export function buildMigrationNotes({
  config,
  migrations,
  uses,
  bearer,
  isProxied,
}: MigrationNotesInput): string[] {
  const notes = migrations.flatMap(({ id, newId, upstreamName, newUpstream }) => [
    ...(newId === id
      ? []
      : [`Codex has a built-in provider ${id}, so yours was renamed to ${newId}.`]),
    ...(upstreamName === undefined || newUpstream !== undefined
      ? []
      : [
          `deltawire.toml already has the upstream ${upstreamName} with this URL; it was not changed.`,
        ]),
    ...(newUpstream === undefined || newUpstream.name === id
      ? []
      : [
          `The upstream of provider ${id} is called ${newUpstream.name}, because ${id} is already used or not allowed as a name in deltawire.toml.`,
        ]),
    ...(newUpstream?.notes ?? []),
  ]);
  const activeMigration = migrations.find(({ id }) => id === config["model_provider"]);
  if (activeMigration?.upstreamName !== undefined && !uses.some(({ path }) => path[0] === "model"))
    notes.push(
      `No model is set: Codex uses the first one in the gateway's list unless you set model = "${activeMigration.upstreamName}/MODEL".`,
    );
  if ("variable" in bearer)
    notes.push(`The gateway requires a token: set ${bearer.variable} where Codex runs, too.`);
  if (isProxied)
    notes.push(
      "The environment has a proxy: add 127.0.0.1 to NO_PROXY, or Codex sends requests to the gateway through it.",
    );
  return [...notes, ...buildOtherNotes(config)];
}

/** Returns notes about other settings that no longer work in current versions of Codex. */
export function buildOtherNotes(config: TomlTable): string[] {
  const notes = listProviders(config).flatMap(([id, table]) =>
    table["wire_api"] === undefined && typeof table["base_url"] === "string"
      ? [
          `model_providers.${id} has no wire_api. The default of Codex was "chat" and is now "responses": if the server supports only Chat, set wire_api = "chat" there and migrate again.`,
        ]
      : [],
  );
  const profile = config["profile"];
  if (typeof profile === "string")
    notes.push(
      `Codex no longer supports profile = "${profile}": move [profiles.${profile}] to ${profile}.config.toml in the same folder, remove the line, and run codex --profile ${profile}.`,
    );
  return notes;
}
