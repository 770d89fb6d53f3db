/** What an error points at, and what it says of it. */
export interface Place {
  /** `messages.2.content` and the like, as it came. */
  path: string;
  why: string;
}

/** Paths of parameters: `["stream_options"]`, `["tools", "0", "function", "strict"]`. */
export interface RefusedParameters {
  /** Those that are called unknown or unsupported. */
  refused: readonly (readonly string[])[];
  /** Those that are refused only beside something else in the request. */
  combined: readonly (readonly string[])[];
  /** The words by which they are refused. */
  sentences: readonly string[];
}

/** Whether they were sent is for the caller to see: some of these forms are met in other sentences too. */
export function refusedParameters(text: string, places: readonly Place[]): RefusedParameters {
  const pointed = places
    .filter(({ why }) => unsupported.test(why))
    .map(({ path, why }) => ({
      path,
      extent: saysValue(why) ? ("value" as const) : extentOf(refusing.exec(why)?.[0] ?? ""),
    }));
  const sentences: string[] = [];
  const named = forms.flatMap((form) =>
    [...text.matchAll(form)].flatMap(({ 0: sentence, groups, indices }) => {
      sentences.push(sentence);
      const { name = "", list = "", at = "" } = groups ?? {};
      const listed = list.match(/[A-Za-z_][\w.]*/g) ?? [];
      const [, end = text.length] = indices?.groups?.["name"] ?? [];
      const extent = extentOf(text.slice(end, end + 120));
      return [name, ...listed]
        .filter((one) => one !== "")
        .map((one) => ({ path: at ? `${at}.${one}` : one, extent }));
    }),
  );
  const found = new Map<string, { steps: string[]; extent: Extent }>();
  for (const { path, extent } of [...pointed, ...named]) {
    const steps = stepsOf(path);
    const known = found.get(steps.join("."))?.extent;
    // The sentence that says more counts: the code beside it may only say "unsupported_parameter".
    if (steps.length > 0 && (known === undefined || known === "always"))
      found.set(steps.join("."), { steps, extent });
  }
  const those = (wanted: Extent): string[][] =>
    [...found.values()].filter(({ extent }) => extent === wanted).map(({ steps }) => steps);
  return { refused: those("always"), combined: those("combined"), sentences };
}

/** When a parameter is refused: whatever it says, beside something else, or for the value that it has. */
type Extent = "always" | "combined" | "value";

/** What is said behind its name. */
function extentOf(behind: string): Extent {
  const [said = ""] = behind.split(/\n|\. /);
  if (saysValue(said)) return "value";
  const [, how] = refusing.exec(said) ?? [];
  if (how === undefined) return "always";
  if (bounded.test(how)) return "value";
  return beside.test(how) ? "combined" : "always";
}

/** True if a sentence says what a value has to be: the parameter is known, and what the client sent for it is wrong. */
function saysValue(sentence: string): boolean {
  return valueRules.some((rule) => rule.test(sentence));
}

const typeNames =
  "(?:str(?:ing)?|int(?:eger)?|number|float|bool(?:ean)?|object|array|list|dict(?:ionary)?|map|null|none)s?";
const valueRules = [
  // "must be a string", "should be greater than 0", "cannot exceed 4"; not "must not be set"
  /\b(?:must|should|has to|have to|needs? to|can only|may only|cannot|can't) (?:not )?(?:only )?(?:(?:have|contain|match|start|equal|exceed)\b|be (?!(?:set|specified|given|provided|sent|used|present|removed|omitted|included|passed|supplied|combined)\b))/i,
  new RegExp(`\\b(?:expected|got|received|of type|for|with) (?:an? )?${typeNames}\\b`, "i"),
  /\b(?:invalid|wrong|incorrect|bad|unexpected) (?:type|value|format)\b|\bout of range\b|_type\b|_parsing\b/i,
  // Google, of a list where there should be none: Unknown name "stop": Proto field is not repeating, cannot start list.
  /\bnot repeating\b|\bcannot start (?:list|struct)/i,
];

const refusing =
  /(?:^["'`\]]*:? ?(?:\w+ )?|["'`] )(?:is|are) (?:(?:not |un)(?:supported|allowed|permitted)|only (?:supported|allowed|permitted))\b([^\n]*)/i;
const bounded =
  /^ (?:(?:with|for|in|on|at|to) )?(?:be )?(?:an? |the |its |this |these )?(?:values?|more|less|fewer|greater|larger|longer|higher|lower|over|above|below|under|beyond|exceed\w*|outside|numbers?|strings?|arrays?|lists?|types?|empty|negative|length|size|range|null|-?\d+(?![\w.-]*[a-z]))\b/i;
const beside =
  /^ (?:when|while|if|unless|without|together|alongside|along with|beside|in (?:combination|conjunction)|(?:with|for|in) (?:both |the )?["'`]?(?:tools?|functions?|stream(?:ing)?|thinking|reasoning|json|structured|temperature|\w+_\w+)\b(?![^.\n]{0,20}\bmodels?\b))/i;

/** What validators say of a place that should not be there at all; a wrong value is another matter. */
const unsupported =
  /unsupported_parameter|unknown_parameter|extra_forbidden|(?:unsupported|unknown) parameter(?! value)|unrecognized[ _](?:request )?(?:argument|parameter|field|key|property|input)|extra (?:inputs|fields)|(?:property|parameter|field|argument)\b[^\n]{0,120} is unsupported/i;

const name = String.raw`["'\`]?(?<name>[A-Za-z_$][\w.[\]$]{0,120})`;
const list = String.raw`[[{(]?(?<list>["'\`]?[A-Za-z_][\w.,:'"\`\s]*)`;

const forms = [
  // OpenAI and Azure; ChatGPT's Codex backend: {"detail": "Unsupported parameter: max_output_tokens"}; NVIDIA: "parameter(s)"
  `(?:(?<at>\\b[a-z_]{1,40}\\[\\d+\\][\\w.[\\]]{0,80}): )?(?:unsupported|unknown|unexpected) (?:request )?(?:parameter|field|argument|key)(?:s|\\(s\\))?:? ${name}`,
  `unrecognized (?:request )?(?:argument|parameter|field|key|property)s?(?: supplied)?:? ${list}`,
  `unexpected keyword argument:? ${name}`,
  // Groq and Cerebras: property 'messages.1.assistant.reasoning_content' is unsupported
  `property ${name}["'\`]? is (?:unsupported|not supported|not allowed)`,
  `["'\`]${name}["'\`] is not (?:supported|allowed|permitted) (?:with|by|for|in|on|when)`,
  `${name}["'\`]?:? \\w* ?is not supported with this model`,
  // xAI, which writes them in camel case
  `(?:argument|parameter) not supported(?: on this model)?:? ${name}`,
  `does(?: not|n't) support (?:the )?(?:parameter|argument) ${name}`,
  // LiteLLM: does not support parameters: {'max_completion_tokens': 4096}, or ['a', 'b']
  `does(?: not|n't) support parameters:? ${list}`,
  // Azure AI: Extra parameters ['stream_options'] are not allowed
  `extra parameters? ${list}\\]? (?:are|is) not allowed`,
  // pydantic, as proxies print it
  `${name}["'\`]?(?:: | - )extra inputs are not permitted`,
  `extra inputs are not permitted, field: ${name}`,
  `#/(?<name>[\\w/]+): extra inputs are not permitted`,
  // jsonschema says at the end where: ('name' was unexpected) - 'messages.1'
  `additional propert(?:ies|y) (?:are|is)? ?not allowed:? \\(?${name}(?:[^\\n)]{0,200}\\) - ["'](?<at>[\\w.[\\]]+))?`,
  // Google: Invalid JSON payload received. Unknown name "seed" at 'generation_config': Cannot find field.
  `unknown name "(?<name>[^"]+)"(?: at '(?<at>[^']+)')?`,
].map((form) => new RegExp(form, "dgi"));

/** Names that wrap the request itself. */
const outer = new Set(["body", "request", "#", "generate_content_request"]);

export function stepsOf(path: string): string[] {
  const steps = path
    .split(/[.[\]/'"`\s]+/)
    .filter((step) => step !== "")
    .map(snakeCase);
  return outer.has(steps[0] ?? "") ? steps.slice(1) : steps;
}

function snakeCase(word: string): string {
  return word.replaceAll(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
