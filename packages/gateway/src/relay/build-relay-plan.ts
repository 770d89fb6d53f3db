import { assertNever } from "@deltawire/tasks";
import type { Redactor } from "@deltawire/agent";
import { planChatRequest } from "./plan-chat-request.ts";
import { planMessagesRequest } from "./plan-messages-request.ts";
import { planResponsesRequest } from "./plan-responses-request.ts";
import type { ClientRequest } from "./client-request.ts";
import type { RelayPlan, RelayTarget } from "./relay-plan.ts";

/** `redactor` removes keys from the reply, except from the output of the model. `now`: Unix time in seconds. */
export function buildRelayPlan(
  client: ClientRequest,
  target: RelayTarget,
  redactor: Redactor,
  now: number,
): RelayPlan {
  const context = { target, redactor, now };
  switch (client.wire) {
    case "responses":
      return planResponsesRequest(client, context);
    case "chat":
      return planChatRequest(client, context);
    case "messages":
      return planMessagesRequest(client, context);
    default:
      return assertNever(client);
  }
}
