import { useId } from "react";
import {
  getAnswerChain,
  getChosenVersion,
  type AnswerNode,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import { AnswerBody } from "../answer/answer-body.tsx";
import { ElapsedTime } from "../answer/elapsed-time.tsx";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore, useRunningTask } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { findComposer, hasPhysicalKeyboard, focusOnUnmount } from "../ui/focus.ts";
import { Menu } from "../ui/menu.tsx";
import { StatusBadge } from "../ui/indicators.tsx";
import { useMessages } from "../messages/use-messages.ts";
import {
  canContinue,
  hasClipboardText,
  toAnswerState,
  statusKindByAnswerState,
  listAuthors,
} from "./answer-summary.ts";
import { AnswerUsage } from "./answer-usage.tsx";
import { getAnswerClipboardText, copyToClipboard } from "./copy-to-clipboard.ts";
import { InlineEditor } from "./inline-editor.tsx";
import type { ThreadNodeProps } from "./thread-nodes.ts";
import { findAnsweredVersion, NodeBadges, VersionSwitchers, Timestamp } from "./message-footer.tsx";
import { getNodeElementId, useThread } from "./thread.ts";
import { useNodeMenu } from "./use-node-menu.ts";
import { chatViewMessages } from "./messages.ts";

/** An answer with its author, status, usage and actions. */
export function AnswerMessageView({
  node,
  previousNode,
  nextNode,
  siblingIds,
  isOutdated,
  isHighlighted,
  isBookmarked,
}: ThreadNodeProps<AnswerNode>) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const thread = useThread();
  const { chat } = thread;
  const { node_id } = node;
  const headingId = useId();
  const version = getChosenVersion(node);
  const chain = getAnswerChain(node, node.version);
  const state = toAnswerState(version);
  const isRunning = version.status === "running";
  const isRetrying = useRunningTask(version, ({ retry }) => retry !== undefined) ?? false;
  const isEditing = useCell(thread.editingNodeId) === node_id;
  const copy =
    isRunning || chain.some(hasClipboardText)
      ? () => void copyToClipboard(getAnswerClipboardText(app, node), app.toasts, t)
      : undefined;
  const edit = () => thread.edit(node_id);
  const continueAnswer = () => void chat.continueAnswer(node_id);
  const showStart = () => void thread.showNode(node_id, { by: "focus" });
  const isContinuable = canContinue(version);
  const items = useNodeMenu({
    node,
    nextNode,
    isBookmarked,
    copy,
    edit,
    leadingItems: [
      { label: t.showStart, icon: "up", run: showStart },
      ...(isContinuable
        ? [{ label: t.continueAnswer, icon: "play", run: continueAnswer } as const]
        : []),
    ],
  });
  return (
    <article
      id={getNodeElementId(node_id)}
      className="chat-node chat-answer"
      data-highlighted={isHighlighted || undefined}
      data-hidden={node.hidden || undefined}
      data-outdated={isOutdated || undefined}
      data-node={node_id}
      aria-labelledby={headingId}
      aria-busy={isRunning || undefined}
      tabIndex={-1}
    >
      <header className="chat-answer-header">
        <AnswerAuthor chain={chain} headingId={headingId} />
        <NodeBadges node={node} isBookmarked={isBookmarked} isOutdated={isOutdated} />
        {isRetrying && <StatusBadge kind="waiting" label={t.retrying} />}
        {state !== "done" && !isRetrying && (
          <StatusBadge kind={statusKindByAnswerState[state]} label={t[state]} />
        )}
        {isRunning && <ElapsedTime startedAt={version.created_at} />}
        {isRunning && (
          <Button
            ref={focusComposerOnUnmount}
            small
            icon="stop"
            onClick={() => void chat.stop(node_id)}
          >
            {t.stop}
          </Button>
        )}
      </header>
      <OtherVersionNotice previousNode={previousNode} version={version} />
      {isEditing ? (
        <InlineEditor
          nodeId={node_id}
          label={t.editAnswerLabel}
          text={getAnswerClipboardText(app, node)}
          sendKey="mod+enter"
          keysHint={t.saveKeys}
          sendLabel={t.save}
          onSend={({ text }) => chat.editAnswer(node_id, text)}
        />
      ) : (
        chain.map((part, index) => (
          <AnswerBody
            key={part.version_id}
            chat={chat}
            node={node}
            version={part}
            isContinued={index < chain.length - 1}
            showNode={thread.showNode}
            failureActions={
              part.status === "error" && index === chain.length - 1 ? (
                <FailureActions nodeId={node_id} />
              ) : undefined
            }
          />
        ))
      )}
      <div className="chat-message-footer">
        <span className="chat-actions">
          {copy !== undefined && <IconButton icon="copy" small label={t.copy} onClick={copy} />}
          {!isRunning && (
            <>
              <IconButton
                ref={focusAnswerOnUnmount}
                icon="redo"
                small
                label={t.retry}
                onClick={() => void chat.rerun(node_id)}
              />
              <IconButton icon="edit" small label={t.editAnswer} onClick={edit} />
              <IconButton icon="up" small label={t.showStart} onClick={showStart} />
            </>
          )}
        </span>
        <Menu label={t.moreOfAnswer} small items={items} />
        {isContinuable && version.status !== "completed" && (
          <Button ref={focusAnswerOnUnmount} small icon="play" onClick={continueAnswer}>
            {t.continueAnswer}
          </Button>
        )}
        <VersionSwitchers node={node} siblingIds={siblingIds} />
        <AnswerUsage chain={chain} />
        {!isRunning && <Timestamp iso={version.created_at} />}
      </div>
    </article>
  );
}

function FailureActions({ nodeId }: { nodeId: string }) {
  const t = useMessages(chatViewMessages);
  const { chat, retryDialogNodeId } = useThread();
  return (
    <>
      <Button
        ref={focusAnswerOnUnmount}
        small
        kind="primary"
        icon="redo"
        onClick={() => void chat.rerun(nodeId)}
      >
        {t.retry}
      </Button>
      <Button small onClick={() => retryDialogNodeId.set(nodeId)}>
        {t.chooseAnother}
      </Button>
    </>
  );
}

const focusAnswerOnUnmount = focusOnUnmount((button) =>
  button.closest<HTMLElement>(".chat-answer"),
);
/** On a touch screen, focusing the composer would open the keyboard. */
const focusComposerOnUnmount = focusOnUnmount((button) => {
  const composer = hasPhysicalKeyboard() ? findComposer() : null;
  return composer ?? button.closest<HTMLElement>(".chat-answer");
});

function AnswerAuthor({
  chain,
  headingId,
}: {
  chain: readonly AnswerVersion[];
  headingId: string;
}) {
  const t = useMessages(chatViewMessages);
  const { names, models } = listAuthors(chain);
  return (
    <>
      <h2 id={headingId} className="chat-author" dir="auto">
        {names.length === 0 ? (
          t.unnamedAnswer
        ) : (
          <>
            <span className="visually-hidden">{t.answer} </span>
            {names.join(", ")}
          </>
        )}
      </h2>
      {models.length > 0 && <span className="chat-model">{models.join(", ")}</span>}
      {chain.at(-1)?.by === "user" && <span className="chat-model">{t.manual}</span>}
    </>
  );
}

/** Shown if the answer responds to a version of the message other than the one displayed above it. */
function OtherVersionNotice({
  previousNode,
  version,
}: {
  previousNode: ThreadNodeProps<AnswerNode>["previousNode"];
  version: AnswerVersion;
}) {
  const t = useMessages(chatViewMessages);
  const { chat } = useThread();
  const answeredVersion = findAnsweredVersion(previousNode, version);
  if (answeredVersion === undefined || previousNode === undefined) return null;
  const show = () =>
    void chat.change({
      type: "choose_version",
      node_id: previousNode.node_id,
      version_id: answeredVersion.versionId,
    });
  return (
    <p className="chat-other-version">
      {t.answersOtherVersion(answeredVersion.number)}
      <Button small kind="ghost" onClick={show}>
        {t.showOtherVersion}
      </Button>
    </p>
  );
}
