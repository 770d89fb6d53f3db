import { getChangedArguments } from "../arguments-hash.ts";
import type { Block, ExpandedArguments, ToolCallItem, ToolResultItem } from "../items.ts";
import type { TaskApproval, TaskTree } from "../state.ts";
import { toToolInputFields, toApprovalRequestChunk, toToolInputChunk } from "./tool-chunks.ts";
import { toOutputChunk } from "./ui-parts.ts";
import { sliceUnsent } from "./text-parts.ts";
import type { UiMessageWriter } from "./ui-message-writer.ts";

/** The output of a running tool is sent again only after it has grown by at least this much. In characters. */
const minGrowth = 20;

/** Tool calls, their approvals and their results. */
export class ToolParts {
  readonly #writer: UiMessageWriter;
  /** Calls whose arguments are not complete yet, by item id. */
  readonly #inputs = new Map<string, { callId: string; sentLength: number }>();
  /** Calls of sub-agents that have a tool part. */
  readonly #shownCallIds = new Set<string>();
  readonly #deniedCallIds = new Set<string>();
  /** Size of streamed results, and how much of it was sent, by item id. */
  readonly #streamedResults = new Map<string, { sentLength: number; size: number }>();

  constructor(writer: UiMessageWriter) {
    this.#writer = writer;
  }

  open(call: ToolCallItem): void {
    this.#inputs.set(call.id, { callId: call.call_id, sentLength: 0 });
    this.#writer.write({ type: "tool-input-start", ...toToolInputFields(call) }, call.id);
  }

  appendInput(event: { item_id: string; delta: string; offset?: number }): void {
    const input = this.#inputs.get(event.item_id);
    if (input === undefined) return;
    const delta = sliceUnsent(input.sentLength, event);
    input.sentLength += delta.length;
    this.#writer.write(
      { type: "tool-input-delta", toolCallId: input.callId, inputTextDelta: delta },
      event.item_id,
    );
  }

  close(call: ToolCallItem): void {
    this.#inputs.delete(call.id);
    this.#writer.write(toToolInputChunk(call), call.id);
  }

  /** Drops a retracted item. */
  drop(itemId: string): void {
    this.#inputs.delete(itemId);
  }

  /**
   * Sends the output of a running tool after it has grown by `growth` characters. Every such chunk contains the complete output so far,
   * so the next one is sent only when the output has grown by a quarter. This limits the total size of all chunks to a small
   * multiple of the last one.
   */
  streamResult(result: ToolResultItem, growth: number): void {
    const { call_id, id, block_list } = result;
    const { sentLength, size } = this.#streamedResults.get(id) ?? { sentLength: 0, size: 0 };
    const newSize = size + growth;
    const isDue = newSize - sentLength >= Math.max(minGrowth, sentLength / 4);
    this.#streamedResults.set(id, { sentLength: isDue ? newSize : sentLength, size: newSize });
    if (!isDue || result.status !== "in_progress") return;
    const output = block_list as Block[];
    this.#writer.emit({
      type: "tool-output-available",
      toolCallId: call_id,
      output,
      preliminary: true,
    });
  }

  closeResult(result: ToolResultItem, { tasks, root_task_id }: TaskTree): void {
    const isRootCall = tasks[root_task_id]?.output.some(
      (item) => item.type === "tool_call" && item.call_id === result.call_id,
    );
    this.#streamedResults.delete(result.id);
    if (isRootCall !== true && !this.#shownCallIds.has(result.call_id)) return;
    const isDenied = this.#deniedCallIds.has(result.call_id);
    this.#writer.write(toOutputChunk(result, tasks[result.call_id], isDenied), result.id);
  }

  requestApproval(approvalId: string, tree: TaskTree): void {
    const match = findApproval(approvalId, tree);
    if (match === undefined) return;
    const { approval } = match;
    if (match.call === undefined) return this.#writeApproval(approval);
    const call = withExpandedArguments(match.call, approval.expanded_arguments);
    if (approval.task_id !== tree.root_task_id && !this.#shownCallIds.has(call.call_id)) {
      this.#shownCallIds.add(call.call_id);
      this.#writer.write(
        { ...toToolInputChunk(call), toolMetadata: { task_id: approval.task_id } },
        call.id,
      );
    } else if (call !== match.call) this.#writer.write(toToolInputChunk(call), call.id);
    this.#writer.write(toApprovalRequestChunk(call, approval), call.id);
  }

  resolveApproval(approvalId: string, tree: TaskTree): void {
    const match = findApproval(approvalId, tree);
    if (match === undefined) return;
    const { approval, call } = match;
    if (call === undefined) return this.#writeApproval(approval);
    const { decision, reason = approval.status === "expired" ? "expired" : undefined } =
      approval.resolution ?? {};
    // A redacted call has a result too, although it is replaced.
    const approved = decision === "approve" || decision === "redact";
    if (approved) this.#deniedCallIds.delete(call.call_id);
    else this.#deniedCallIds.add(call.call_id);
    const editedArguments = approval.resolution && getChangedArguments(approval.resolution);
    if (editedArguments !== undefined)
      this.#writer.write(toToolInputChunk({ ...call, arguments: editedArguments }), call.id);
    // Sent again without the blocks held for approval: rejected content must not stay in the message.
    if (decision !== "approve") this.#writer.write(toApprovalRequestChunk(call, approval), call.id);
    this.#writer.write(
      {
        type: "tool-approval-response",
        approvalId,
        approved,
        ...(reason === undefined ? {} : { reason }),
      },
      call.id,
    );
  }

  /** Writes an approval that has no call. */
  #writeApproval(approval: TaskApproval): void {
    this.#writer.write({ type: "data-approval", id: approval.approval_id, data: approval });
  }
}

/** Returns the call with its expanded arguments, unless the expansion is stored as a blob. */
function withExpandedArguments(
  call: ToolCallItem,
  expandedArguments: ExpandedArguments | undefined,
): ToolCallItem {
  return expandedArguments !== undefined && "text" in expandedArguments
    ? { ...call, arguments: expandedArguments.text }
    : call;
}

function findApproval(
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
