import { WireError } from "@deltawire/wire";
import { checkCodexConfig } from "@deltawire/wire/codex";
import { parse, TomlError } from "smol-toml";
import { goesThroughProxy } from "../config/loopback-proxy.ts";
import { bare, isLoopback, isUnspecified } from "../config/addresses.ts";
import { pointsAtGateway } from "../config/base-url.ts";
import { isTable, type Table } from "../config/decode.ts";
import type { Environment } from "../config/secret.ts";
import { tomlMistake } from "../config/toml-mistake.ts";
import { modelUses, providerChoices, type ModelUse } from "./codex-models.ts";
import {
  acceptedId,
  movedFields,
  providersOf,
  readProvider,
  variablesIn,
} from "./codex-provider.ts";
import { bearerFor, UpstreamNames, withUpstreams } from "./gateway-file.ts";
import { movedUpstream, Variables, type Move } from "./moved-upstream.ts";
import { migrationNotes, notesOnRest } from "./notes.ts";
import { MigrationError } from "./problem.ts";
import { TomlEdits } from "./toml-edits.ts";

export interface MigrationInput {
  readonly codexText: string;
  /** For messages. */
  readonly codexFile: string;
  /** Undefined if there is no deltawire.toml yet. */
  readonly gatewayText: string | undefined;
  /** For messages. */
  readonly gatewayFile: string;
  /** The gateway's. */
  readonly port: number;
  readonly env: Environment;
}

export interface MigrationPlan {
  readonly codexText: string;
  /** Undefined if there is no deltawire.toml, and none is needed. */
  readonly gatewayText: string | undefined;
  /** What the user should know or do. No secret is in them. */
  readonly notes: readonly string[];
  /** Environment variables that the gateway will need and that are not set here. */
  readonly unset: readonly string[];
  readonly nothingToDo: boolean;
}

/** The change from `wire_api = "chat"` to this gateway, as new texts of both files. Throws a MigrationError. */
export function planMigration(input: MigrationInput): MigrationPlan {
  const { codexText, codexFile, gatewayText, gatewayFile, port, env } = input;
  const config = parsed(codexText, codexFile);
  const gateway = parsed(gatewayText ?? "", gatewayFile);
  const chat = providersOf(config).filter(([, table]) => table["wire_api"] === "chat");
  if (chat.length === 0)
    return { codexText, gatewayText, notes: notesOnRest(config), unset: [], nothingToDo: true };

  const edits = new TomlEdits(codexText, codexFile);
  const names = new UpstreamNames(gateway);
  const variables = new Variables(variablesIn(config), env);
  const uses = modelUses(config);
  const bearer = bearerFor(gateway);
  const host = hostOf(gateway);
  const address = `http://${host.includes(":") ? `[${host}]` : host}:${port}/v1`;
  const fields = {
    base_url: address,
    wire_api: "responses",
    ...("word" in bearer
      ? { experimental_bearer_token: bearer.word }
      : { env_key: bearer.variable }),
    model_catalog_url: `${address}/models`,
  };
  const moves = chat.map(([id, table]): Move => {
    const provider = readProvider(id, table, edits);
    const newId = acceptedId(id, config);
    changeProvider(id, newId, table, fields, edits);
    if (pointsAtGateway(provider.base_url, { host, port, allowedHosts: [] }))
      return { id, newId, upstream: undefined, added: undefined };
    const { name, isThere } = names.nameFor(id, provider.base_url);
    const models = uses.filter((use) => use.provider === id).map(({ model }) => model);
    const upstream = movedUpstream(id, provider.base_url, provider, variables);
    const added = isThere ? undefined : { ...upstream, name, models: [...new Set(models)] };
    return { id, newId, upstream: name, added };
  });
  changeModels(uses, moves, edits);
  for (const { provider, path } of providerChoices(config)) {
    const move = moves.find(({ id }) => id === provider);
    if (move !== undefined && move.newId !== move.id) edits.set(path, move.newId);
  }
  const newCodexText = edits.finish();
  checkForCodex(newCodexText, codexFile);
  const added = moves.flatMap(({ added }) => added ?? []);
  return {
    codexText: newCodexText,
    gatewayText: withUpstreams({ file: gatewayFile, text: gatewayText }, added, env),
    notes: migrationNotes({ config, moves, uses, bearer, isProxied: goesThroughProxy(env) }),
    unset: [...new Set(added.flatMap(({ unset }) => unset))],
    nothingToDo: false,
  };
}

function parsed(text: string, file: string): Table {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new MigrationError(`${file}:${tomlMistake(text, error)}`);
  }
}

/** Where the gateway is reached on this machine. */
function hostOf(gateway: Table): string {
  const server = gateway["server"];
  const host = isTable(server) ? server["host"] : undefined;
  if (typeof host !== "string" || isLoopback(host) || isUnspecified(host)) return "127.0.0.1";
  return bare(host);
}

function changeProvider(
  id: string,
  newId: string,
  table: Table,
  fields: Readonly<Record<string, string>>,
  edits: TomlEdits,
): void {
  const path = ["model_providers", id];
  if (newId !== id) edits.rename(path, newId);
  const { name } = table;
  if (typeof name !== "string" || name.trim() === "") give("name", id);
  for (const [field, value] of Object.entries(fields)) give(field, value);
  for (const field of movedFields)
    if (table[field] !== undefined && fields[field] === undefined) edits.remove([...path, field]);

  function give(field: string, value: string): void {
    if (table[field] === undefined) edits.add([...path, "wire_api"], field, value);
    else edits.set([...path, field], value);
  }
}

/** `upstream/model` names a model at the gateway whatever else is configured there. */
function changeModels(uses: readonly ModelUse[], moves: readonly Move[], edits: TomlEdits): void {
  const newName = ({ provider, model }: ModelUse) => {
    const upstream = moves.find(({ id }) => id === provider)?.upstream;
    return upstream === undefined ? model : `${upstream}/${model}`;
  };
  const top = uses.find(({ path }) => path[0] === "model");
  for (const use of uses) {
    const name = newName(use);
    if (use.inheritedBeside === undefined) {
      if (name !== use.model) edits.set(use.path, name);
    } else if (top !== undefined && name !== newName(top))
      edits.add(use.inheritedBeside, "model", name);
  }
}

function checkForCodex(text: string, file: string): void {
  try {
    checkCodexConfig(parsed(text, file), file);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    // Codex repeats a text that stands where none belongs, and it may be a key.
    const words = error.message.replaceAll(/string "(?:[^"\\]|\\.)*"/g, "string");
    throw new MigrationError(`${file}: Codex would refuse it all the same: ${words}`);
  }
}
