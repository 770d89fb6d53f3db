import type { ModelType } from "@deltawire/tasks/chats";
import { knownType } from "./known-models.ts";
import type { ModelAlias, ModelTarget, Price } from "./config.ts";
import { decodeSection, tableOf } from "./decode.ts";
import { decodeValue, isTable, type Reading, type Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean, nearest } from "@deltawire/tasks";
import { usableOptions } from "./options.ts";
import type { Problems } from "./problems.ts";
import { settingsOf, type Decoded } from "./settings.ts";
import type { ReadUpstreams } from "./upstream.ts";

/** What a name in `[models]` may lead to. */
export interface Targets {
  readonly upstreams: ReadUpstreams;
  /** Whether `demo/…` is there. */
  readonly demo: boolean;
}

/** `[models]`: the names that clients use. */
export function readModelNames(
  table: unknown,
  targets: Targets,
  reading: Reading,
): Map<string, ModelAlias> {
  const named = tableOf(table, ["models"], reading.problems);
  const aliases = new Map<string, ModelAlias>();
  for (const [name, given] of Object.entries(named)) {
    const path = ["models", name];
    const dotted = isTable(given) ? dottedName(name, given) : undefined;
    if (dotted !== undefined) {
      const quoted = JSON.stringify(dotted);
      reading.problems.error(path, `a name with a dot stands in quotes; write ${quoted} = ...`);
      continue;
    }
    checkName(name, path, targets, reading);
    const long = isTable(given) ? decodeSection("models.*", given, path, reading) : undefined;
    const texts = long === undefined ? decodeShort(given, path, reading) : long.use;
    const place = isTable(given) ? [...path, "use"] : path;
    const isList = Array.isArray(isTable(given) ? given["use"] : given);
    const use = (texts ?? []).flatMap((text, index) =>
      readTarget(text, isList ? [...place, index] : place, targets, named, reading),
    );
    checkList(texts, use, place, reading);
    const contextWindow = long?.context_window;
    const type = long?.type ?? typeOf(use);
    const price = long && isTable(given) ? priceOf(long, type, given, path, reading) : undefined;
    aliases.set(name, {
      targets: use,
      contextWindow,
      price,
      type: long?.type,
      takes: long?.takes && [...new Set(long.takes)],
      tools: long?.tools,
      options: usableOptions(long?.options ?? {}, [...path, "options"], reading),
    });
  }
  return aliases;
}

/** `glm-4.6 = "up/glm-4.6"`, where TOML takes the dot for a table in a table. */
function dottedName(name: string, given: Table): string | undefined {
  const [[part, value] = ["", undefined], another] = Object.entries(given);
  if (part === "" || another !== undefined || settingsOf("models.*").has(part)) return undefined;
  const dotted = `${name}.${part}`;
  if (isTable(value)) return dottedName(dotted, value);
  return typeof value === "string" || Array.isArray(value) ? dotted : undefined;
}

/** `"upstream/model"` or a list, where nothing else is said. */
function decodeShort(
  given: unknown,
  path: KeyPath,
  reading: Reading,
): readonly string[] | undefined {
  const setting = settingsOf("models.*").get("use");
  if (setting === undefined) return undefined;
  return decodeValue(given, setting, path, reading) as readonly string[] | undefined;
}

function checkName(name: string, path: KeyPath, targets: Targets, { problems }: Reading): void {
  const [upstream = ""] = name.split("/", 1);
  if (name.trim() === "")
    problems.error(path, "is an empty name; write a name that clients can ask for");
  else if (name.includes("/") && isKnown(upstream, targets))
    problems.error(
      path,
      `has the form of a model of the upstream ${upstream}, which works without an entry; take another name`,
    );
}

function readTarget(
  text: string,
  place: KeyPath,
  targets: Targets,
  aliases: object,
  { problems }: Reading,
): ModelTarget[] {
  const slash = text.indexOf("/");
  const upstream = text.slice(0, Math.max(slash, 0));
  const model = text.slice(slash + 1);
  if (slash === -1 || model === "") {
    const isAlias = Object.hasOwn(aliases, text);
    const near =
      didYouMean(text, isAlias ? [] : listedModels(targets)) || ' write "upstream/model"';
    problems.error(
      place,
      `${isAlias ? "leads to another name, and only a model of an upstream can stand here" : "has no upstream before a slash"};${near}`,
    );
    return [];
  }
  if (!isKnown(upstream, targets)) {
    const near = didYouMean(upstream, [
      ...targets.upstreams.keys(),
      ...(targets.demo ? ["demo"] : []),
    ]);
    const known = [...targets.upstreams.keys()].join(", ") || "none";
    problems.error(
      place,
      `there is no upstream ${JSON.stringify(upstream)};${near === "" ? ` known are ${known}` : near}`,
    );
    return [];
  }
  warnOfUnlisted({ upstream, model }, place, targets, problems);
  return [{ upstream, model }];
}

export function warnOfUnlisted(
  { upstream, model }: ModelTarget,
  place: KeyPath,
  targets: Targets,
  problems: Problems,
): void {
  const listed = targets.upstreams.get(upstream)?.models;
  if (listed === undefined || listed.includes(model)) return;
  const near = nearest(model, listed);
  problems.warn(
    place,
    `${upstream} does not list ${JSON.stringify(model)} in its models${near === undefined ? "; requests for it are sent all the same" : `; did you mean ${upstream}/${near}?`}`,
  );
}

function checkList(
  given: readonly string[] | undefined,
  targets: readonly ModelTarget[],
  place: KeyPath,
  { problems }: Reading,
): void {
  if (given?.length === 0) problems.error(place, 'is empty; write "upstream/model"');
  const names = targets.map(({ upstream, model }) => `${upstream}/${model}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problems.error(place, `has ${twice} twice; take one out`);
}

function typeOf([target]: readonly ModelTarget[]): ModelType {
  return target === undefined ? "chat" : knownType(`${target.upstream}/${target.model}`);
}

/** A cost that is counted by half would be no limit. Only who makes pictures may cost by the picture alone. */
function priceOf(
  prices: Decoded<"models.*">,
  type: ModelType,
  given: Table,
  path: KeyPath,
  { problems }: Reading,
): Price | undefined {
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
    if (given[missing] === undefined)
      problems.error([...path, missing], "is missing; a price needs price_input and price_output");
  return undefined;
}

export function isKnown(upstream: string, { upstreams, demo }: Targets): boolean {
  return upstreams.has(upstream) || (demo && upstream === "demo");
}

/** As `upstream/model`. */
export function listedModels({ upstreams }: Targets): string[] {
  return [...upstreams].flatMap(([name, upstream]) =>
    (upstream?.models ?? []).map((model) => `${name}/${model}`),
  );
}
