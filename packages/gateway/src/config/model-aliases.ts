import type { ModelType } from "@deltawire/tasks/chats";
import { inferModelType } from "./known-models.ts";
import type { ModelPrice } from "@deltawire/agent";
import type { ModelAlias, ModelTarget } from "./config.ts";
import { decodeSection, expectTable } from "./decode-section.ts";
import { decodeValue, isTomlTable, type DecodeContext, type TomlTable } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean, findClosestMatch } from "@deltawire/tasks";
import { isModelPattern } from "./model-patterns.ts";
import { checkModelOptions } from "./model-options.ts";
import type { ConfigProblems } from "./config-problems.ts";
import { getSectionSettings, type DecodedSection } from "./setting-definitions.ts";
import type { DecodedUpstreams } from "./upstreams.ts";

/** The upstreams that a name in `[models]` may refer to. */
export interface KnownUpstreams {
  readonly upstreams: DecodedUpstreams;
  /** True if the upstream `demo` is served. */
  readonly hasDemo: boolean;
}

export interface DecodedModelAliases {
  /** By the name that clients use. */
  readonly models: ReadonlyMap<string, ModelAlias>;
  /** By pattern. */
  readonly modelPatterns: ReadonlyMap<string, ModelAlias>;
}

/** Decodes `[models]`: the names that clients use, and patterns such as `claude-*`. */
export function decodeModelAliases(
  table: unknown,
  known: KnownUpstreams,
  context: DecodeContext,
): DecodedModelAliases {
  const tables = expectTable(table, ["models"], context.problems);
  const models = new Map<string, ModelAlias>();
  const modelPatterns = new Map<string, ModelAlias>();
  for (const [name, entry] of Object.entries(tables)) {
    const path = ["models", name];
    const dottedName = isTomlTable(entry) ? findDottedName(name, entry) : undefined;
    if (dottedName !== undefined) {
      const quoted = JSON.stringify(dottedName);
      context.problems.error(path, `a name with a dot must be in quotes; write ${quoted} = …`);
      continue;
    }
    checkAliasName(name, path, known, context);
    const section = isTomlTable(entry)
      ? decodeSection("models.*", entry, path, context)
      : undefined;
    const targetTexts = section === undefined ? decodeShorthand(entry, path, context) : section.use;
    const location = isTomlTable(entry) ? [...path, "use"] : path;
    const isList = Array.isArray(isTomlTable(entry) ? entry["use"] : entry);
    const targets = (targetTexts ?? []).flatMap((text, index) =>
      parseTarget(text, isList ? [...location, index] : location, known, tables, context),
    );
    checkTargets(targetTexts, targets, location, context);
    const contextWindow = section?.context_window;
    const type = section?.type ?? inferType(targets);
    const price =
      section && isTomlTable(entry) ? decodePrice(section, type, entry, path, context) : undefined;
    const maxOutputTokens = section?.max_output_tokens;
    const aliases = isModelPattern(name) ? modelPatterns : models;
    aliases.set(name, {
      targets:
        maxOutputTokens === undefined
          ? targets
          : targets.map((target) => ({ ...target, maxOutputTokens })),
      contextWindow,
      price,
      type: section?.type,
      inputModalities: section?.input_modalities && [...new Set(section.input_modalities)],
      supportsTools: section?.tools,
      options: checkModelOptions(section?.options ?? {}, [...path, "options"], context),
    });
  }
  return { models, modelPatterns };
}

/** Returns the name of an entry such as `glm-4.6 = "up/glm-4.6"`, whose dot means a nested table in TOML. */
function findDottedName(name: string, entry: TomlTable): string | undefined {
  const [[part, value] = ["", undefined], another] = Object.entries(entry);
  if (part === "" || another !== undefined || isAliasSetting(part)) return undefined;
  const dotted = `${name}.${part}`;
  if (isTomlTable(value)) return findDottedName(dotted, value);
  return typeof value === "string" || Array.isArray(value) ? dotted : undefined;
}

function isAliasSetting(name: string): boolean {
  const settings = getSectionSettings("models.*");
  return settings.has(name) || [...settings.values()].some(({ formerName }) => formerName === name);
}

/** Decodes `"upstream/model"`, or a list, in place of a table. */
function decodeShorthand(
  entry: unknown,
  path: KeyPath,
  context: DecodeContext,
): readonly string[] | undefined {
  const setting = getSectionSettings("models.*").get("use");
  if (setting === undefined) return undefined;
  return decodeValue(entry, setting, path, context) as readonly string[] | undefined;
}

function checkAliasName(
  name: string,
  path: KeyPath,
  known: KnownUpstreams,
  { problems }: DecodeContext,
): void {
  const [upstream = ""] = name.split("/", 1);
  if (name.trim() === "") problems.error(path, "the name of a model must not be empty");
  else if (name.includes("/") && isKnownUpstream(upstream, known))
    problems.error(
      path,
      `looks like a model of the upstream ${upstream}, which needs no entry; choose another name`,
    );
}

function parseTarget(
  text: string,
  location: KeyPath,
  known: KnownUpstreams,
  aliases: object,
  { problems }: DecodeContext,
): ModelTarget[] {
  const slash = text.indexOf("/");
  const upstream = text.slice(0, Math.max(slash, 0));
  const model = text.slice(slash + 1);
  if (slash === -1 || model === "") {
    const isAlias = Object.hasOwn(aliases, text);
    const suggestion = isAlias ? "" : didYouMean(text, listConfiguredModels(known));
    problems.error(
      location,
      `must be "upstream/model"${isAlias ? ", not another name from [models]" : suggestion}`,
    );
    return [];
  }
  if (!isKnownUpstream(upstream, known)) {
    const suggestion = didYouMean(upstream, [
      ...known.upstreams.keys(),
      ...(known.hasDemo ? ["demo"] : []),
    ]);
    const knownNames = [...known.upstreams.keys()].join(", ") || "none";
    problems.error(
      location,
      `unknown upstream ${JSON.stringify(upstream)}${suggestion === "" ? `; known upstreams: ${knownNames}` : suggestion}`,
    );
    return [];
  }
  warnIfUnlisted({ upstream, model }, location, known, problems);
  return [{ upstream, model }];
}

export function warnIfUnlisted(
  { upstream, model }: ModelTarget,
  location: KeyPath,
  known: KnownUpstreams,
  problems: ConfigProblems,
): void {
  const upstreamModels = known.upstreams.get(upstream)?.models;
  if (upstreamModels === undefined || upstreamModels.includes(model)) return;
  const suggestion = findClosestMatch(model, upstreamModels);
  problems.warn(
    location,
    `${JSON.stringify(model)} is not in the models of ${upstream}${suggestion === undefined ? "; requests for it are sent anyway" : ` (did you mean ${upstream}/${suggestion}?)`}`,
  );
}

function checkTargets(
  targetTexts: readonly string[] | undefined,
  targets: readonly ModelTarget[],
  location: KeyPath,
  { problems }: DecodeContext,
): void {
  if (targetTexts?.length === 0)
    problems.error(location, 'must not be empty; write "upstream/model"');
  const names = targets.map(({ upstream, model }) => `${upstream}/${model}`);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) problems.error(location, `lists ${duplicate} twice`);
}

function inferType([target]: readonly ModelTarget[]): ModelType {
  return target === undefined ? "chat" : inferModelType(`${target.upstream}/${target.model}`);
}

/** An incomplete price is an error, because it would make cost limits useless. Only image models may have just a price per image. */
function decodePrice(
  prices: DecodedSection<"models.*">,
  type: ModelType,
  entry: TomlTable,
  path: KeyPath,
  { problems }: DecodeContext,
): ModelPrice | undefined {
  const { price_input: input, price_cached: cached, price_output: output } = prices;
  const { price_image: image } = prices;
  if (input !== undefined && output !== undefined)
    return {
      input,
      output,
      ...(cached === undefined ? {} : { cached }),
      ...(image === undefined ? {} : { image }),
    };
  const hasTokens = input !== undefined || cached !== undefined || output !== undefined;
  if (image !== undefined && !hasTokens && (type === "image-gen" || type === "image-edit"))
    return { input: 0, output: 0, image };
  const hasPrice = hasTokens || image !== undefined;
  for (const missing of hasPrice ? ["price_input", "price_output"] : [])
    if (entry[missing] === undefined)
      problems.error(
        [...path, missing],
        "missing; a price needs both price_input and price_output",
      );
  return undefined;
}

export function isKnownUpstream(upstream: string, { upstreams, hasDemo }: KnownUpstreams): boolean {
  return upstreams.has(upstream) || (hasDemo && upstream === "demo");
}

/** Returns the models that upstreams list in the file, as `upstream/model`. */
export function listConfiguredModels({ upstreams }: KnownUpstreams): string[] {
  return [...upstreams].flatMap(([name, upstream]) =>
    (upstream?.models ?? []).map((model) => `${name}/${model}`),
  );
}
