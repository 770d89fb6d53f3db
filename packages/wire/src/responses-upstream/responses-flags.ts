import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import { toSupportedEffort } from "../mapping/reasoning-effort.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/** Quirks of a Responses upstream that a gateway can learn from a rejection. */
export interface ResponsesFlags {
  /** True if the upstream rejects items whose reasoning is missing: they are sent without ids or with new ones. */
  readonly rejectsHistory?: boolean;
  /** True if the upstream cannot decrypt sealed reasoning, which is then not sent. */
  readonly dropSealed?: boolean;
  /** True if the upstream rejects `additional_tools` items (Codex, for its "lite" models): their tools are sent in `tools`. */
  readonly hoistTools?: boolean;
  /** Parameters that are not sent: names, or paths such as `reasoning.summary` and, for every item, `input[].status`. */
  readonly droppedParameters?: readonly string[];
  /** Supported values of reasoning.effort. Others become the nearest one. */
  readonly efforts?: readonly string[];
  /** Fields that are added to every request and replace fields of the same name. */
  readonly extraBody?: Readonly<JsonObject>;
}

/** Adapts the parameters to the upstream. Returns the same object if nothing changes. */
export function applyResponsesFlags(
  request: ResponsesRequest,
  { droppedParameters = [], efforts, extraBody = {}, hoistTools = false }: ResponsesFlags,
  repairs: Repairs,
): ResponsesRequest {
  let body: ResponsesRequest = hoistTools ? moveAdditionalTools(request, repairs) : request;
  for (const [name, value] of Object.entries(extraBody))
    if (body[name] !== value) body = { ...body, [name]: value };
  for (const path of droppedParameters) {
    const rest = dropPath(path, body);
    if (rest !== body) repairs.add("parameter_dropped", path);
    body = rest;
  }
  const requestedEffort = nonEmptyString(body.reasoning?.effort);
  const effort = toSupportedEffort(requestedEffort, { efforts: efforts ?? "any" }, repairs);
  if (effort === requestedEffort) return body;
  const { effort: _requested, ...rest } = body.reasoning ?? {};
  return { ...body, reasoning: effort === undefined ? rest : { ...rest, effort } };
}

function moveAdditionalTools(request: ResponsesRequest, repairs: Repairs): ResponsesRequest {
  const { input, tools } = request;
  if (!Array.isArray(input)) return request;
  const added = input.flatMap((item) => (item.type === "additional_tools" ? item.tools : []));
  const rest = input.filter(({ type }) => type !== "additional_tools");
  if (rest.length === input.length) return request;
  repairs.add("parameter_changed", "input[].additional_tools: sent as tools");
  return { ...request, input: rest, tools: [...(tools ?? []), ...added] };
}

/** Removes the value at a path, and objects that become empty. */
function dropPath(path: string, body: ResponsesRequest): ResponsesRequest {
  const [name = "", ...fields] = path.split(/(?:\[\])?\./);
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (value === undefined) return body;
  const rest = fields.length === 0 ? undefined : dropField(fields, value);
  if (rest === value) return body;
  const { [name]: _dropped, ...others } = body;
  return isObject(rest) && Object.keys(rest).length === 0
    ? others
    : { ...others, ...(rest === undefined ? {} : { [name]: rest }) };
}

function dropField(fields: readonly string[], value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const rest = value.map((element) => dropField(fields, element));
    return rest.every((element, index) => element === value[index]) ? value : rest;
  }
  const [field = "", ...inner] = fields;
  if (!isObject(value)) return value;
  const { [field]: dropped, ...rest } = value;
  if (dropped === undefined) return value;
  if (inner.length === 0) return rest;
  const remaining = dropField(inner, dropped);
  return remaining === dropped ? value : { ...value, [field]: remaining };
}
