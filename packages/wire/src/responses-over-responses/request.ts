import { repairHistory } from "../repair-history.ts";
import { FieldReport, notSupported, reportFields, type FieldOutcome } from "../field-report.ts";
import { nonEmptyString } from "../json.ts";
import { Repairs } from "../repairs.ts";
import { applyResponsesFlags, type ResponsesFlags } from "../responses-upstream/responses-flags.ts";
import type { ResponseInputItem, ResponsesRequest } from "../shapes/responses-request.ts";

export interface RepairResponsesRequestOptions extends ResponsesFlags {
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /** True if `encrypted_content` was sealed here, for a Chat upstream: no other server can unseal it. */
  isOwnSeal?: (encrypted: string) => boolean;
  /**
   * Returns ids for items whose reasoning is not sent (decision 18), for example `newId("msg", "msg_7f3a")`. It must
   * return the same id for the same `oldId`. If undefined, such items are sent without an id.
   */
  newId?: (prefix: string, oldId: string) => string;
}

export interface RepairedResponsesRequest {
  body: ResponsesRequest;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/**
 * Adapts a request from `decodeResponsesRequest` to a Responses upstream. The body is the same object unless an option
 * changes it, or it has reasoning that the upstream cannot unseal or find (decision 18).
 */
export function repairResponsesRequest(
  request: ResponsesRequest,
  options: RepairResponsesRequestOptions = {},
): RepairedResponsesRequest {
  const repairs = new Repairs();
  const { upstreamModel = request.model, stream = request.stream } = options;
  const input = repairInput(request, options, repairs);
  const isUnchanged =
    upstreamModel === request.model && stream === request.stream && input === request.input;
  const body: ResponsesRequest = isUnchanged
    ? request
    : {
        ...request,
        ...(upstreamModel === undefined ? {} : { model: upstreamModel }),
        ...(stream === undefined ? {} : { stream }),
        ...(input === undefined ? {} : { input }),
      };
  const adapted = applyResponsesFlags(body, options, repairs);
  const report = new FieldReport();
  reportFields(request, adapted, report, {
    targets: {},
    reasons: {},
    defaultReason: notSupported,
  });
  return { body: adapted, repairs, fields: report.outcomes };
}

function repairInput(
  { input, store }: ResponsesRequest,
  options: RepairResponsesRequestOptions,
  repairs: Repairs,
): ResponsesRequest["input"] {
  const { rejectsHistory: wasRejected = false, dropSealed = false, isOwnSeal, newId } = options;
  if (!Array.isArray(input)) return input;
  const isUnusableReasoning = (item: ResponseInputItem) => {
    if (item.type !== "reasoning") return false;
    const sealed = nonEmptyString(item.encrypted_content);
    return sealed === undefined || isOwnSeal?.(sealed) === true;
  };
  if (!wasRejected && !dropSealed && !input.some(isUnusableReasoning)) return input;
  const repaired = repairHistory(input, {
    stored: store !== false, // OpenAI's default
    wasRejected,
    dropSealed,
    ...(isOwnSeal === undefined ? {} : { isForeignSeal: isOwnSeal }),
    ...(newId === undefined ? {} : { newId }),
    repairs,
  });
  const isUnchanged =
    repaired.length === input.length && repaired.every((item, index) => item === input[index]);
  return isUnchanged ? input : repaired;
}
