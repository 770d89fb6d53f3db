/** What an error points at, and what it says of it. */
export interface Place {
  /** `messages.2.content` and the like, as it came. */
  path: string;
  why: string;
}

/**
 * The parameters that an error calls unknown or unsupported, as paths: `["stream_options"]`, `["tools", "0", "function",
 * "strict"]`. Whether they were sent is for the caller to see: some of these forms are met in other sentences too.
 */
export function refusedParameters(text: string, places: readonly Place[]): string[][] {
  const pointed = places.filter(({ why }) => unsupported.test(why)).map(({ path }) => path);
  const named = forms.flatMap((form) =>
    [...text.matchAll(form)].flatMap(({ groups }) => {
      const { name = "", list = "", at = "" } = groups ?? {};
      const listed = list.match(/[A-Za-z_][\w.]*/g) ?? [];
      return [name, ...listed]
        .filter((one) => one !== "")
        .map((one) => (at ? `${at}.${one}` : one));
    }),
  );
  const seen = new Map([...pointed, ...named].map((path) => [stepsOf(path).join("."), path]));
  return [...seen.values()].map(stepsOf).filter((steps) => steps.length > 0);
}

/** What validators say of a place that should not be there at all; a wrong value is another matter. */
const unsupported =
  /unsupported_parameter|unknown_parameter|extra_forbidden|(?:unsupported|unknown) parameter|unrecognized|extra (?:inputs|fields)|is unsupported/i;

const name = String.raw`["'\`]?(?<name>[A-Za-z_$][\w.[\]$]*)`;
const list = String.raw`[[{(]?(?<list>["'\`]?[A-Za-z_][\w.,:'"\`\s]*)`;

const forms = [
  // OpenAI and Azure; ChatGPT's Codex backend: {"detail": "Unsupported parameter: max_output_tokens"}; NVIDIA: "parameter(s)"
  `(?:unsupported|unknown|unexpected) (?:request )?(?:parameter|field|argument|key)(?:s|\\(s\\))?:? ${name}`,
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
  `additional propert(?:ies|y) (?:are|is)? ?not allowed:? \\(?${name}`,
  // Google: Invalid JSON payload received. Unknown name "seed" at 'generation_config': Cannot find field.
  `unknown name "(?<name>[^"]+)"(?: at '(?<at>[^']+)')?`,
].map((form) => new RegExp(form, "gi"));

/** Names that wrap the request itself. */
const outer = new Set(["body", "request", "#", "generate_content_request"]);

function stepsOf(path: string): string[] {
  const steps = path
    .split(/[.[\]/'"`\s]+/)
    .filter((step) => step !== "")
    .map(snakeCase);
  return outer.has(steps[0] ?? "") ? steps.slice(1) : steps;
}

function snakeCase(word: string): string {
  return word.replaceAll(/(?<=[a-z\d])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
