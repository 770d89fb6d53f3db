import { setTimeout as sleep } from "node:timers/promises";
import type { Approval, ApprovalDecision } from "@deltawire/tasks";
import type { Ledger, LedgerTool } from "../../../../test/cluster/ledger.ts";
import type { LoadBalancer } from "./load-balancer.ts";

interface ListedApproval {
  approval: Approval;
  call?: { name: string; arguments: string };
}

const pollMs = 200;
const approvedShare = 0.85;
/** How long a user thinks at most: long enough that processes end while an approval is pending. */
const maxDelayMs = 2000;

/** A user who decides all pending approvals: lists them on one process and decides on another. */
export class Approver {
  readonly #balancer: LoadBalancer;
  readonly #ledger: Ledger;
  readonly #random: () => number;
  readonly #onFault: (fault: string) => void;
  readonly #startedIds = new Set<string>();
  #running: Promise<void> | undefined;
  #isStopped = false;
  decisionCount = 0;
  /** Number of interrupted calls about which the gateway asked. */
  reconciliationCount = 0;

  constructor(options: {
    balancer: LoadBalancer;
    ledger: Ledger;
    random: () => number;
    onFault: (fault: string) => void;
  }) {
    this.#balancer = options.balancer;
    this.#ledger = options.ledger;
    this.#random = options.random;
    this.#onFault = options.onFault;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      for (const pendingApproval of await this.#listPending()) {
        const { approval_id: id } = pendingApproval.approval;
        if (this.#startedIds.has(id)) continue;
        this.#startedIds.add(id);
        void this.#decide(pendingApproval).catch((error: unknown) => this.#onFault(String(error)));
      }
      await sleep(pollMs);
    }
  }

  async #listPending(): Promise<ListedApproval[]> {
    try {
      return (await this.#balancer.pick().fetchJson<{ data: ListedApproval[] }>("/api/approvals"))
        .data;
    } catch {
      return [];
    }
  }

  async #decide({ approval, call }: ListedApproval): Promise<void> {
    await sleep(this.#random() * maxDelayMs);
    const decision = this.#choose(approval, call);
    const { status, body } = await this.#balancer.request(
      `/api/approvals/${approval.approval_id}`,
      {
        decision,
        scope: "once",
      },
    );
    this.decisionCount += 1;
    if (approval.kind === "reconcile") this.reconciliationCount += 1;
    // 409: the reply to an earlier attempt was lost, or the task was canceled.
    if (status === 200 || status === 409) return;
    this.#onFault(`a decision was rejected: ${status} ${JSON.stringify(body)}`);
  }

  #choose(approval: Approval, call: ListedApproval["call"]): ApprovalDecision {
    if (approval.kind !== "reconcile") return this.#random() < approvedShare ? "approve" : "deny";
    // A user who looks into the ledger before saying whether the call was carried out.
    const { entry } = JSON.parse(call?.arguments ?? "{}") as { entry?: string };
    const tool = (call?.name ?? "").replace("ledger__", "") as LedgerTool;
    return this.#ledger.count(tool, entry ?? "") > 0 ? "approve" : "deny";
  }
}
