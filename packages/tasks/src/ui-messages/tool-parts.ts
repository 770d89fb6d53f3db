import { changedArguments } from "../arguments-hash.ts";
import type { Block, ExpandedArguments, ToolCallItem, ToolResultItem } from "../items.ts";
import type { TaskApproval, TaskTree } from "../state.ts";
import { inputOf, requestOf, whole } from "./calls.ts";
import { outputChunk } from "./parts.ts";
import { unseen } from "./texts.ts";
import type { ToldMessage } from "./told-message.ts";

const smallestGrowth = 20;

/** Calls, what a person is asked about them, and their results. */
export class ToolParts {
  readonly #message: ToldMessage;
  /** Calls whose arguments are being written, by item. */
  readonly #inputs = new Map<string, { callId: string; sent: number }>();
  /** Calls of sub-agents that have a tool part. */
  readonly #shown = new Set<string>();
  readonly #refused = new Set<string>();
  /** Of results that are streamed, by item: how much there is, and how much of it was sent. */
  readonly #streamed = new Map<string, { sent: number; size: number }>();

  constructor(message: ToldMessage) {
    this.#message = message;
  }

  open(call: ToolCallItem): void {
    this.#inputs.set(call.id, { callId: call.call_id, sent: 0 });
    this.#message.put({ type: "tool-input-start", ...inputOf(call) }, call.id);
  }

  grow(event: { item_id: string; delta: string; offset?: number }): void {
    const input = this.#inputs.get(event.item_id);
    if (input === undefined) return;
    const delta = unseen(input.sent, event);
    input.sent += delta.length;
    this.#message.put(
      { type: "tool-input-delta", toolCallId: input.callId, inputTextDelta: delta },
      event.item_id,
    );
  }

  close(call: ToolCallItem): void {
    this.#inputs.delete(call.id);
    this.#message.put(whole(call), call.id);
  }

  /** Those of an item that was taken back. */
  drop(item: string): void {
    this.#inputs.delete(item);
  }

  /**
   * Shows what a running tool has streamed. Every such chunk has all of it, so it is sent only when it has grown by a good
   * part: all chunks together are then not much larger than the last one.
   */
  growResult(result: ToolResultItem, by: number): void {
    const { call_id, id, block_list } = result;
    const { sent, size } = this.#streamed.get(id) ?? { sent: 0, size: 0 };
    const now = size + by;
    const isShown = now - sent >= Math.max(smallestGrowth, sent / 4);
    this.#streamed.set(id, { sent: isShown ? now : sent, size: now });
    if (!isShown || result.status !== "in_progress") return;
    const output = block_list as Block[];
    this.#message.say({
      type: "tool-output-available",
      toolCallId: call_id,
      output,
      preliminary: true,
    });
  }

  closeResult(result: ToolResultItem, { tasks, root_task_id }: TaskTree): void {
    const own = tasks[root_task_id]?.output.some(
      (item) => item.type === "tool_call" && item.call_id === result.call_id,
    );
    this.#streamed.delete(result.id);
    if (own !== true && !this.#shown.has(result.call_id)) return;
    const refused = this.#refused.has(result.call_id);
    this.#message.put(outputChunk(result, tasks[result.call_id], refused), result.id);
  }

  ask(approvalId: string, tree: TaskTree): void {
    const asked = askedOf(approvalId, tree);
    if (asked === undefined) return;
    const { approval } = asked;
    if (asked.call === undefined) return this.#putAlone(approval);
    const call = withExpansion(asked.call, approval.expanded_arguments);
    if (approval.task_id !== tree.root_task_id && !this.#shown.has(call.call_id)) {
      this.#shown.add(call.call_id);
      this.#message.put({ ...whole(call), toolMetadata: { task_id: approval.task_id } }, call.id);
    } else if (call !== asked.call) this.#message.put(whole(call), call.id);
    this.#message.put(requestOf(call, approval), call.id);
  }

  answer(approvalId: string, tree: TaskTree): void {
    const asked = askedOf(approvalId, tree);
    if (asked === undefined) return;
    const { approval, call } = asked;
    if (call === undefined) return this.#putAlone(approval);
    const { decision, reason = approval.status === "expired" ? "expired" : undefined } =
      approval.resolution ?? {};
    // A redacted result is told, though not as it was.
    const approved = decision === "approve" || decision === "redact";
    if (approved) this.#refused.delete(call.call_id);
    else this.#refused.add(call.call_id);
    const changed = approval.resolution && changedArguments(approval.resolution);
    if (changed !== undefined) this.#message.put(whole({ ...call, arguments: changed }), call.id);
    // Asked once more without the blocks that were held: what was refused stays in no message.
    if (decision !== "approve") this.#message.put(requestOf(call, approval), call.id);
    this.#message.put(
      {
        type: "tool-approval-response",
        approvalId,
        approved,
        ...(reason === undefined ? {} : { reason }),
      },
      call.id,
    );
  }

  /** A question that is about no call. */
  #putAlone(approval: TaskApproval): void {
    this.#message.put({ type: "data-approval", id: approval.approval_id, data: approval });
  }
}

/** The call as it runs. An expansion that is a blob is in the approval, and the call names its variables. */
function withExpansion(call: ToolCallItem, expanded: ExpandedArguments | undefined): ToolCallItem {
  return expanded !== undefined && "text" in expanded
    ? { ...call, arguments: expanded.text }
    : call;
}

function askedOf(
  approvalId: string,
  { approvals, tasks }: TaskTree,
): { approval: TaskApproval; call: ToolCallItem | undefined } | undefined {
  const approval = approvals.findLast(({ approval_id }) => approval_id === approvalId);
  if (approval === undefined) return undefined;
  const call = tasks[approval.task_id]?.output.findLast(
    (item): item is ToolCallItem => item.type === "tool_call" && item.call_id === approval.call_id,
  );
  return { approval, call };
}
