import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import { knownEffort } from "../mapping/effort.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/** How a Responses upstream may differ, as far as a gateway can learn it from a refusal. */
export interface ResponsesFlags {
  /** It has refused the history: no item keeps an id whose reasoning is not there. */
  refusedHistory?: boolean;
  /** It cannot open sealed reasoning: that stays here. */
  dropSealed?: boolean;
  /** Names, or paths: `reasoning.summary`; `input[].status` of every item. */
  droppedParameters?: readonly string[];
  /** The words it knows for reasoning.effort; another one becomes the nearest. */
  efforts?: readonly string[];
  /** Sent with every request, over anything of the same name. */
  extraBody?: Readonly<JsonObject>;
}

/** The request with its parameters as the upstream takes them; the same object where they are. */
export function withKnownParameters(
  request: ResponsesRequest,
  { droppedParameters = [], efforts, extraBody = {} }: ResponsesFlags,
  repairs: Repairs,
): ResponsesRequest {
  let body: ResponsesRequest = request;
  for (const [name, value] of Object.entries(extraBody))
    if (body[name] !== value) body = { ...body, [name]: value };
  for (const path of droppedParameters) {
    const rest = without(path, body);
    if (rest !== body) repairs.add("parameter_dropped", path);
    body = rest;
  }
  const asked = nonEmptyString(body.reasoning?.effort);
  const effort = knownEffort(asked, { efforts: efforts ?? "any" }, repairs);
  if (effort === asked) return body;
  const { effort: _asked, ...rest } = body.reasoning ?? {};
  return { ...body, reasoning: effort === undefined ? rest : { ...rest, effort } };
}

/** The body without what stands at a path; what nothing is left of goes too. */
function without(path: string, body: ResponsesRequest): ResponsesRequest {
  const [name = "", field] = path.split(/(?:\[\])?\./);
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (value === undefined) return body;
  const rest = field === undefined ? undefined : withoutField(field, value);
  if (rest === value) return body;
  const { [name]: _gone, ...others } = body;
  return isObject(rest) && Object.keys(rest).length === 0
    ? others
    : { ...others, ...(rest === undefined ? {} : { [name]: rest }) };
}

function withoutField(field: string, value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const rest = value.map((each) => withoutField(field, each));
    return rest.every((each, at) => each === value[at]) ? value : rest;
  }
  if (!isObject(value) || value[field] === undefined) return value;
  const { [field]: _gone, ...rest } = value;
  return rest;
}
