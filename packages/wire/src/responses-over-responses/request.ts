import { mendHistory } from "../history.ts";
import { nonEmptyString } from "../json.ts";
import { Repairs } from "../repairs.ts";
import { withKnownParameters, type ResponsesFlags } from "../responses-upstream/request-flags.ts";
import type { InputItem, ResponsesRequest } from "../shapes/responses-request.ts";

export interface MendedResponsesRequestOptions extends ResponsesFlags {
  /** The upstream's name of the model, where it differs from what the client asked for. */
  upstreamModel?: string;
  /** Whether to ask for a stream; otherwise what the client asked for. */
  stream?: boolean;
  /** Whether `encrypted_content` was sealed by `Seal`, for a Chat upstream: no other one can open it. */
  isOwnEnvelope?: (encrypted: string) => boolean;
  /**
   * Ids for items whose reasoning is not sent (decision 18): `newId("msg", "msg_7f3a")`, the same for the same old one.
   * Without it they have none.
   */
  newId?: (prefix: string, old: string) => string;
}

export interface MendedResponsesRequest {
  body: ResponsesRequest;
  repairs: Repairs;
}

/**
 * A Responses client's request for a Responses upstream: left alone, and the same object, unless its reasoning cannot be
 * opened or found there, or the upstream has refused something (decision 18). Takes what `decodeResponsesRequest`
 * returned.
 */
export function mendedResponsesRequest(
  request: ResponsesRequest,
  options: MendedResponsesRequestOptions = {},
): MendedResponsesRequest {
  const repairs = new Repairs();
  const { upstreamModel = request.model, stream = request.stream } = options;
  const input = mendedInput(request, options, repairs);
  const same =
    upstreamModel === request.model && stream === request.stream && input === request.input;
  const body: ResponsesRequest = same
    ? request
    : {
        ...request,
        ...(upstreamModel === undefined ? {} : { model: upstreamModel }),
        ...(stream === undefined ? {} : { stream }),
        ...(input === undefined ? {} : { input }),
      };
  return { body: withKnownParameters(body, options, repairs), repairs };
}

function mendedInput(
  { input, store }: ResponsesRequest,
  options: MendedResponsesRequestOptions,
  repairs: Repairs,
): ResponsesRequest["input"] {
  const { refusedHistory: refused = false, dropSealed = false, isOwnEnvelope, newId } = options;
  if (!Array.isArray(input)) return input;
  const isLost = (item: InputItem) => {
    if (item.type !== "reasoning") return false;
    const sealed = nonEmptyString(item.encrypted_content);
    return sealed === undefined || isOwnEnvelope?.(sealed) === true;
  };
  if (!refused && !dropSealed && !input.some(isLost)) return input;
  const mended = mendHistory(input, {
    stored: store !== false, // what OpenAI does unless it is told not to
    refused,
    dropSealed,
    ...(isOwnEnvelope === undefined ? {} : { isForeignSeal: isOwnEnvelope }),
    ...(newId === undefined ? {} : { newId }),
    repairs,
  });
  const same = mended.length === input.length && mended.every((item, at) => item === input[at]);
  return same ? input : mended;
}
