import { WireError } from "@deltawire/wire";
import { validateCodexConfig } from "@deltawire/wire/codex";
import { usesProxyForLoopback } from "../config/loopback-proxy.ts";
import { normalizeHost, isLoopback, isUnspecified } from "../config/host-addresses.ts";
import { pointsAtGateway } from "../config/base-url.ts";
import { isTomlTable, type TomlTable } from "../config/decode-section.ts";
import type { EnvironmentVariables } from "../config/secret.ts";
import { findModelUses, findProviderSettings, type CodexModelUse } from "./codex-models.ts";
import {
  toAllowedProviderId,
  movedFields,
  listProviders,
  parseProvider,
  listVariableNames,
} from "./codex-provider.ts";
import { chooseBearer, UpstreamNameAllocator, appendUpstreams } from "./gateway-config.ts";
import { migrateProvider, VariableAllocator, type ProviderMigration } from "./migrated-upstream.ts";
import { buildMigrationNotes, buildOtherNotes } from "./migration-notes.ts";
import { MigrationError } from "./migration-error.ts";
import { parseToml } from "./parse-toml.ts";
import { TomlEditor } from "./toml-editor.ts";

export interface MigrationInput {
  readonly codexText: string;
  /** The path of the file, as shown in messages. */
  readonly codexFile: string;
  /** Undefined if there is no deltawire.toml yet. */
  readonly gatewayText: string | undefined;
  /** The path of the file, as shown in messages. */
  readonly gatewayFile: string;
  /** The port of the gateway. */
  readonly port: number;
  readonly env: EnvironmentVariables;
}

export interface MigrationPlan {
  readonly codexText: string;
  /** Undefined if there is no deltawire.toml, and none is needed. */
  readonly gatewayText: string | undefined;
  /** What the user should know or do. Contains no secrets. */
  readonly notes: readonly string[];
  /** Environment variables that the gateway needs but that are not set. */
  readonly unsetVariables: readonly string[];
  /** True if the Codex configuration needs no migration. */
  readonly isEmpty: boolean;
}

/**
 * Moves providers with `wire_api = "chat"` to this gateway, and returns the new contents of both files. Throws a MigrationError if
 * a file is invalid or a provider cannot be moved.
 */
export function planMigration(input: MigrationInput): MigrationPlan {
  const { codexText, codexFile, gatewayText, gatewayFile, port, env } = input;
  const config = parseToml(codexText, codexFile);
  const gatewayConfig = parseToml(gatewayText ?? "", gatewayFile);
  const chatProviders = listProviders(config).filter(([, table]) => table["wire_api"] === "chat");
  if (chatProviders.length === 0)
    return {
      codexText,
      gatewayText,
      notes: buildOtherNotes(config),
      unsetVariables: [],
      isEmpty: true,
    };

  const editor = new TomlEditor(codexText, codexFile);
  const names = new UpstreamNameAllocator(gatewayConfig);
  const variables = new VariableAllocator(listVariableNames(config), env);
  const uses = findModelUses(config);
  const bearer = chooseBearer(gatewayConfig);
  const host = getGatewayHost(gatewayConfig);
  const gatewayUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}/v1`;
  const fields = {
    base_url: gatewayUrl,
    wire_api: "responses",
    ...("placeholder" in bearer
      ? { experimental_bearer_token: bearer.placeholder }
      : { env_key: bearer.variable }),
    model_catalog_url: `${gatewayUrl}/models`,
  };
  const migrations = chatProviders.map(([id, table]): ProviderMigration => {
    const provider = parseProvider(id, table, editor);
    const newId = toAllowedProviderId(id, config);
    editProvider(id, newId, table, fields, editor);
    if (pointsAtGateway(provider.base_url, { host, port, allowedHosts: [] }))
      return { id, newId, upstreamName: undefined, newUpstream: undefined };
    const { name, isExisting } = names.allocate(id, provider.base_url);
    const models = uses.filter((use) => use.provider === id).map(({ model }) => model);
    const upstream = migrateProvider(id, provider.base_url, provider, variables);
    const newUpstream = isExisting
      ? undefined
      : { ...upstream, name, models: [...new Set(models)] };
    return { id, newId, upstreamName: name, newUpstream };
  });
  editModels(uses, migrations, editor);
  for (const { provider, path } of findProviderSettings(config)) {
    const migration = migrations.find(({ id }) => id === provider);
    if (migration !== undefined && migration.newId !== migration.id)
      editor.set(path, migration.newId);
  }
  const newCodexText = editor.finish();
  assertCodexAccepts(newCodexText, codexFile);
  const newUpstreams = migrations.flatMap(({ newUpstream }) => newUpstream ?? []);
  return {
    codexText: newCodexText,
    gatewayText: appendUpstreams({ file: gatewayFile, text: gatewayText }, newUpstreams, env),
    notes: buildMigrationNotes({
      config,
      migrations,
      uses,
      bearer,
      isProxied: usesProxyForLoopback(env),
    }),
    unsetVariables: [...new Set(newUpstreams.flatMap(({ unsetVariables }) => unsetVariables))],
    isEmpty: false,
  };
}

/** Returns the host name or address at which clients on this machine reach the gateway. */
function getGatewayHost(gatewayConfig: TomlTable): string {
  const server = gatewayConfig["server"];
  const host = isTomlTable(server) ? server["host"] : undefined;
  if (typeof host !== "string" || isLoopback(host) || isUnspecified(host)) return "127.0.0.1";
  return normalizeHost(host);
}

function editProvider(
  id: string,
  newId: string,
  table: TomlTable,
  fields: Readonly<Record<string, string>>,
  editor: TomlEditor,
): void {
  const path = ["model_providers", id];
  if (newId !== id) editor.rename(path, newId);
  const { name } = table;
  if (typeof name !== "string" || name.trim() === "") setField("name", id);
  for (const [field, value] of Object.entries(fields)) setField(field, value);
  for (const field of movedFields)
    if (table[field] !== undefined && fields[field] === undefined) editor.remove([...path, field]);

  function setField(field: string, value: string): void {
    if (table[field] === undefined) editor.add([...path, "wire_api"], field, value);
    else editor.set([...path, field], value);
  }
}

/** Renames models to `upstream/model`, which the gateway always resolves. */
function editModels(
  uses: readonly CodexModelUse[],
  migrations: readonly ProviderMigration[],
  editor: TomlEditor,
): void {
  const toNewName = ({ provider, model }: CodexModelUse) => {
    const upstreamName = migrations.find(({ id }) => id === provider)?.upstreamName;
    return upstreamName === undefined ? model : `${upstreamName}/${model}`;
  };
  const topLevelUse = uses.find(({ path }) => path[0] === "model");
  for (const use of uses) {
    const newName = toNewName(use);
    if (use.providerPath === undefined) {
      if (newName !== use.model) editor.set(use.path, newName);
    } else if (topLevelUse !== undefined && newName !== toNewName(topLevelUse))
      editor.add(use.providerPath, "model", newName);
  }
}

function assertCodexAccepts(text: string, file: string): void {
  try {
    validateCodexConfig(parseToml(text, file), file);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    // Codex quotes unexpected strings, which may be keys.
    const message = error.message.replaceAll(/string "(?:[^"\\]|\\.)*"/g, "string");
    throw new MigrationError(`${file}: Codex would still reject this file: ${message}`);
  }
}
