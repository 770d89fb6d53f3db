import { useId, useState } from "react";
import { ChatApiError, type DecisionBody, type PendingApproval } from "@deltawire/tasks/chats";
import { Blocks } from "../answer/blocks.tsx";
import { LongText } from "../answer/long-text.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { usePicked } from "../state/cell.ts";
import { usePage } from "../state/page.ts";
import { hashOf } from "../state/route.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/words.ts";
import { DecisionForm, type Writing } from "./decision-form.tsx";
import { approvedOnce } from "./approved-once.ts";
import { questionOf } from "./question-of.ts";
import { readableArguments } from "./readable-arguments.ts";
import { approvalWords, type ApprovalWords } from "./words.ts";
import "./approvals.css";

interface ApprovalCardProps {
  pending: PendingApproval;
  place: "here" | "tray";
  onDecided?: (() => void) | undefined;
}

/** A decision that an agent waits for, with all that is needed to take it. */
export function ApprovalCard({ pending, place, onDecided }: ApprovalCardProps) {
  const page = usePage();
  const words = useWords(approvalWords);
  const format = useFormat();
  const titleId = useId();
  const { approval } = pending;
  const isDeciding = usePicked(page.approvals.deciding, (all) => all.has(approval.approval_id));
  const [writing, setWriting] = useState<Writing>();
  const [problem, setProblem] = useState<string>();
  const decide = async (body: DecisionBody) => {
    setProblem(undefined);
    try {
      await page.approvals.decide(approval.approval_id, body);
      onDecided?.();
    } catch (error) {
      setProblem(error instanceof ChatApiError ? error.message : String(error));
    }
  };
  const { used, limit, expires_at } = approval;
  return (
    <div className="approvals-card" role="group" aria-labelledby={titleId} aria-busy={isDeciding}>
      <header className="approvals-head">
        <Icon name="hand" />
        <h3 id={titleId}>{questionOf(pending, words)}</h3>
      </header>
      {place === "tray" && <Origin pending={pending} words={words} />}
      {used !== undefined && limit !== undefined && (
        <p>{words.used(String(used), String(limit))}</p>
      )}
      <Matter pending={pending} words={words} />
      {expires_at !== undefined && (
        <p className="approvals-quiet">{words.expires(format.exactly(expires_at))}</p>
      )}
      {writing === undefined ? (
        <Choices
          pending={pending}
          words={words}
          busy={isDeciding}
          onDecide={(body) => void decide(body)}
          onWrite={setWriting}
        />
      ) : (
        <DecisionForm
          pending={pending}
          writing={writing}
          words={words}
          busy={isDeciding}
          problem={problem}
          onDecide={(body) => void decide(body)}
          onCancel={() => {
            setWriting(undefined);
            setProblem(undefined);
          }}
        />
      )}
      {writing === undefined && problem !== undefined && (
        <p className="approvals-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

interface PartProps {
  pending: PendingApproval;
  words: ApprovalWords;
}

function Origin({ pending: { chat, agent, depth }, words }: PartProps) {
  const who = depth > 0 ? `${words.subAgent} ${agent}` : agent;
  return (
    <p className="approvals-quiet">
      {words.by(who)}
      {chat !== undefined && (
        <>
          {" "}
          {chat.title === "" ? words.inUntitled : words.inChat(chat.title)}{" "}
          <a href={hashOf({ is: "chat", chatId: chat.chat_id, nodeId: chat.node_id })}>
            {words.showInChat}
          </a>
        </>
      )}
    </p>
  );
}

/** What it is about: arguments that would be run, or a result that is held. */
function Matter({ pending: { approval, call }, words }: PartProps) {
  const { block_list: blocks, kind } = approval;
  if (kind === "result" && blocks !== undefined)
    return (
      <div className="approvals-matter" role="group" aria-label={words.heldResult}>
        <Blocks blocks={blocks} />
      </div>
    );
  if (call === undefined) return null;
  return (
    <LongText
      text={readableArguments(call.arguments) || words.noArguments}
      mono
      label={words.arguments}
    />
  );
}

interface ChoicesProps extends PartProps {
  busy: boolean;
  onDecide: (body: DecisionBody) => void;
  onWrite: (writing: Writing) => void;
}

function Choices({ pending: { approval, call }, words, busy, onDecide, onWrite }: ChoicesProps) {
  const { kind, choices, scopes = ["once"], any_arguments } = approval;
  const forSession = kind === "call" && scopes.includes("session");
  const labels = labelsOf(kind, words);
  return (
    <div className="approvals-choices">
      {choices.includes("approve") && (
        <Button
          kind="primary"
          icon="check"
          busy={busy}
          onClick={() =>
            kind === "reconcile" ? onWrite("outcome") : onDecide(approvedOnce(approval))
          }
        >
          {labels.approve}
        </Button>
      )}
      {forSession && (
        <Menu
          label={words.session}
          disabled={busy}
          items={[
            {
              label: words.sessionSame,
              icon: "check",
              run: () => onDecide({ decision: "approve", scope: "session" }),
            },
            ...(any_arguments === true
              ? [
                  {
                    label: words.sessionAny,
                    icon: "shield" as const,
                    run: () =>
                      onDecide({ decision: "approve", scope: "session", any_arguments: true }),
                  },
                ]
              : []),
          ]}
        >
          {words.session}
        </Menu>
      )}
      {kind === "call" && call !== undefined && (
        <Button icon="edit" disabled={busy} onClick={() => onWrite("arguments")}>
          {words.edit}
        </Button>
      )}
      {choices.includes("redact") && (
        <Button icon="hide" disabled={busy} onClick={() => onWrite("replacement")}>
          {words.redact}
        </Button>
      )}
      {choices.includes("deny") && (
        <Button
          kind="danger"
          disabled={busy}
          onClick={() =>
            kind === "limit" || kind === "reconcile"
              ? onDecide({ decision: "deny" })
              : onWrite("reason")
          }
        >
          {labels.deny}
        </Button>
      )}
      {choices.includes("abort") && (
        <Button
          kind="ghost"
          icon="stop"
          disabled={busy}
          onClick={() => onDecide({ decision: "abort" })}
        >
          {words.abort}
        </Button>
      )}
    </div>
  );
}

function labelsOf(kind: string, words: ApprovalWords): { approve: string; deny: string } {
  switch (kind) {
    case "result":
      return { approve: words.release, deny: words.withhold };
    case "limit":
      return { approve: words.goOn, deny: words.endHere };
    case "reconcile":
      return { approve: words.wasCarriedOut, deny: words.wasNot };
    default:
      return { approve: words.approve, deny: words.denyWhy };
  }
}
