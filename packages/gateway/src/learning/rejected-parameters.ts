/** A location in the request, and the reason that the error gives for it. */
export interface ErrorLocation {
  /** The unparsed path, such as `messages.2.content`. */
  path: string;
  reason: string;
}

/** Paths of parameters: `["stream_options"]`, `["tools", "0", "function", "strict"]`. */
export interface RejectedParameters {
  /** Unknown or unsupported parameters. */
  rejected: readonly (readonly string[])[];
  /** Parameters that are rejected only in combination with something else in the request. */
  rejectedInCombination: readonly (readonly string[])[];
  /** The matched parts of the error text. */
  sentences: readonly string[];
}

/**
 * Returns the parameters that an error names as rejected. Some patterns also match unrelated text, so the caller must check that
 * the request contains the parameters.
 */
export function parseRejectedParameters(
  text: string,
  locations: readonly ErrorLocation[],
): RejectedParameters {
  const fromLocations = locations
    .filter(({ reason }) => unsupportedPattern.test(reason))
    .map(({ path, reason }) => ({
      path,
      kind: describesValue(reason)
        ? ("value" as const)
        : classifyRejection(rejectionPattern.exec(reason)?.[0] ?? ""),
    }));
  const sentences: string[] = [];
  const fromText = rejectionPatterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(({ 0: sentence, groups, indices }) => {
      sentences.push(sentence);
      const { name = "", list = "", parent = "" } = groups ?? {};
      const listedNames = list.match(/[A-Za-z_][\w.]*/g) ?? [];
      const [, end = text.length] = indices?.groups?.["name"] ?? [];
      const kind = classifyRejection(text.slice(end, end + 120));
      return [name, ...listedNames]
        .filter((parameter) => parameter !== "")
        .map((parameter) => ({ path: parent ? `${parent}.${parameter}` : parameter, kind }));
    }),
  );
  const byPath = new Map<string, { segments: string[]; kind: RejectionKind }>();
  for (const { path, kind } of [...fromLocations, ...fromText]) {
    const segments = parsePath(path);
    const earlierKind = byPath.get(segments.join("."))?.kind;
    // A more specific sentence overrides "always", which may come from a bare error code such as "unsupported_parameter".
    if (segments.length > 0 && (earlierKind === undefined || earlierKind === "always"))
      byPath.set(segments.join("."), { segments, kind });
  }
  const listPaths = (target: RejectionKind): string[][] =>
    [...byPath.values()].filter(({ kind }) => kind === target).map(({ segments }) => segments);
  return {
    rejected: listPaths("always"),
    rejectedInCombination: listPaths("combination"),
    sentences,
  };
}

/** When a parameter is rejected: always, in combination with something else, or only because of its value. */
type RejectionKind = "always" | "combination" | "value";

/** Classifies a rejection by the text that follows the name of the parameter. */
function classifyRejection(following: string): RejectionKind {
  const [sentence = ""] = following.split(/\n|\. /);
  if (describesValue(sentence)) return "value";
  const [, condition] = rejectionPattern.exec(sentence) ?? [];
  if (condition === undefined) return "always";
  if (boundsPattern.test(condition)) return "value";
  return combinationPattern.test(condition) ? "combination" : "always";
}

/** True if a sentence describes valid values: the parameter is supported, but its value is invalid. */
function describesValue(sentence: string): boolean {
  return valueConstraintPatterns.some((pattern) => pattern.test(sentence));
}

const typeNames =
  "(?:str(?:ing)?|int(?:eger)?|number|float|bool(?:ean)?|object|array|list|dict(?:ionary)?|map|null|none)s?";
const valueConstraintPatterns = [
  // "must be a string", "should be greater than 0", "cannot exceed 4"; not "must not be set"
  /\b(?:must|should|has to|have to|needs? to|can only|may only|cannot|can't) (?:not )?(?:only )?(?:(?:have|contain|match|start|equal|exceed)\b|be (?!(?:set|specified|given|provided|sent|used|present|removed|omitted|included|passed|supplied|combined)\b))/i,
  new RegExp(`\\b(?:expected|got|received|of type|for|with) (?:an? )?${typeNames}\\b`, "i"),
  /\b(?:invalid|wrong|incorrect|bad|unexpected) (?:type|value|format)\b|\bout of range\b|_type\b|_parsing\b/i,
  // Google, for an unexpected list: Unknown name "stop": Proto field is not repeating, cannot start list.
  /\bnot repeating\b|\bcannot start (?:list|struct)/i,
];

const rejectionPattern =
  /(?:^["'`\]]*:? ?(?:\w+ )?|["'`] )(?:is|are) (?:(?:not |un)(?:supported|allowed|permitted)|only (?:supported|allowed|permitted))\b([^\n]*)/i;
const boundsPattern =
  /^ (?:(?:with|for|in|on|at|to) )?(?:be )?(?:an? |the |its |this |these )?(?:values?|more|less|fewer|greater|larger|longer|higher|lower|over|above|below|under|beyond|exceed\w*|outside|numbers?|strings?|arrays?|lists?|types?|empty|negative|length|size|range|null|-?\d+(?![\w.-]*[a-z]))\b/i;
const combinationPattern =
  /^ (?:when|while|if|unless|without|together|alongside|along with|beside|in (?:combination|conjunction)|(?:with|for|in) (?:both |the )?["'`]?(?:tools?|functions?|stream(?:ing)?|thinking|reasoning|json|structured|temperature|\w+_\w+)\b(?![^.\n]{0,20}\bmodels?\b))/i;

/** Matches codes and messages for unknown or unsupported fields, as opposed to invalid values. */
const unsupportedPattern =
  /unsupported_parameter|unknown_parameter|extra_forbidden|(?:unsupported|unknown) parameter(?! value)|unrecognized[ _](?:request )?(?:argument|parameter|field|key|property|input)|extra (?:inputs|fields)|(?:property|parameter|field|argument)\b[^\n]{0,120} is unsupported/i;

const namePattern = String.raw`["'\`]?(?<name>[A-Za-z_$][\w.[\]$]{0,120})`;
const listPattern = String.raw`[[{(]?(?<list>["'\`]?[A-Za-z_][\w.,:'"\`\s]*)`;

const rejectionPatterns = [
  // OpenAI and Azure; ChatGPT's Codex backend: {"detail": "Unsupported parameter: max_output_tokens"}; NVIDIA: "parameter(s)"
  `(?:(?<parent>\\b[a-z_]{1,40}\\[\\d+\\][\\w.[\\]]{0,80}): )?(?:unsupported|unknown|unexpected) (?:request )?(?:parameter|field|argument|key)(?:s|\\(s\\))?:? ${namePattern}`,
  `unrecognized (?:request )?(?:argument|parameter|field|key|property)s?(?: supplied)?:? ${listPattern}`,
  `unexpected keyword argument:? ${namePattern}`,
  // Groq and Cerebras: property 'messages.1.assistant.reasoning_content' is unsupported
  `property ${namePattern}["'\`]? is (?:unsupported|not supported|not allowed)`,
  `["'\`]${namePattern}["'\`] is not (?:supported|allowed|permitted) (?:with|by|for|in|on|when)`,
  `${namePattern}["'\`]?:? \\w* ?is not supported with this model`,
  // xAI, which uses camel case
  `(?:argument|parameter) not supported(?: on this model)?:? ${namePattern}`,
  `does(?: not|n't) support (?:the )?(?:parameter|argument) ${namePattern}`,
  // LiteLLM: does not support parameters: {'max_completion_tokens': 4096}, or ['a', 'b']
  `does(?: not|n't) support parameters:? ${listPattern}`,
  // Azure AI: Extra parameters ['stream_options'] are not allowed
  `extra parameters? ${listPattern}\\]? (?:are|is) not allowed`,
  // pydantic, as proxies print it
  `${namePattern}["'\`]?(?:: | - )extra inputs are not permitted`,
  `extra inputs are not permitted, field: ${namePattern}`,
  `#/(?<name>[\\w/]+): extra inputs are not permitted`,
  // jsonschema has the location at the end: ('name' was unexpected) - 'messages.1'
  `additional propert(?:ies|y) (?:are|is)? ?not allowed:? \\(?${namePattern}(?:[^\\n)]{0,200}\\) - ["'](?<parent>[\\w.[\\]]+))?`,
  // Google: Invalid JSON payload received. Unknown name "seed" at 'generation_config': Cannot find field.
  `unknown name "(?<name>[^"]+)"(?: at '(?<parent>[^']+)')?`,
].map((pattern) => new RegExp(pattern, "dgi"));

/** First path segments that stand for the request body itself. */
const wrapperNames = new Set(["body", "request", "#", "generate_content_request"]);

export function parsePath(path: string): string[] {
  const segments = path
    .split(/[.[\]/'"`\s]+/)
    .filter((segment) => segment !== "")
    .map(toSnakeCase);
  return wrapperNames.has(segments[0] ?? "") ? segments.slice(1) : segments;
}

function toSnakeCase(word: string): string {
  return word.replaceAll(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
