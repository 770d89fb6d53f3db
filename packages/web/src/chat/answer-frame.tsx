import { useId } from "react";
import {
  answerChain,
  chosenVersion,
  type AnswerNode,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import { Answer } from "../answer/answer.tsx";
import { Elapsed } from "../answer/elapsed.tsx";
import { useCell } from "../hooks/use-cell.ts";
import { usePage, useRunningTask } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { findComposer, hasKeyboard, passesFocusTo } from "../parts/focus.ts";
import { Menu } from "../parts/menu.tsx";
import { Status } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { canContinue, hasWordsToCopy, saysOf, statusKinds, whoMade } from "./answer-facts.ts";
import { AnswerUsage } from "./answer-usage.tsx";
import { answerToCopy, copyText } from "./copy-text.ts";
import { InPlaceEditor } from "./in-place-editor.tsx";
import type { NodeProps } from "./groups.ts";
import { answeredVersion, Marks, Switchers, When } from "./message-footer.tsx";
import { elementId, useThread } from "./thread.ts";
import { useNodeMenu } from "./use-node-menu.ts";
import { chatWords } from "./words.ts";

/** Who answered, how it went, what it cost, and what can be done with it. */
export function AnswerFrame({
  node,
  above,
  below,
  branches,
  isOutdated,
  isMarked,
  isBookmarked,
}: NodeProps<AnswerNode>) {
  const page = usePage();
  const words = useWords(chatWords);
  const thread = useThread();
  const { chat } = thread;
  const { node_id } = node;
  const headingId = useId();
  const version = chosenVersion(node);
  const chain = answerChain(node, node.version);
  const says = saysOf(version);
  const isRunning = version.status === "running";
  const isRetrying = useRunningTask(version, ({ retry }) => retry !== undefined) ?? false;
  const isEditing = useCell(thread.editing) === node_id;
  const copy =
    isRunning || chain.some(hasWordsToCopy)
      ? () => void copyText(answerToCopy(page, node), page.toasts, words)
      : undefined;
  const edit = () => thread.edit(node_id);
  const goOn = () => void chat.continueAnswer(node_id);
  const toStart = () => void thread.show(node_id, { by: "focus" });
  const mayContinue = canContinue(version);
  const items = useNodeMenu({
    node,
    below,
    isBookmarked,
    copy,
    edit,
    first: [
      { label: words.toStart, icon: "up", run: toStart },
      ...(mayContinue ? [{ label: words.continueIt, icon: "play", run: goOn } as const] : []),
    ],
  });
  return (
    <article
      id={elementId(node_id)}
      className="chat-node chat-answer"
      data-marked={isMarked || undefined}
      data-hidden={node.hidden || undefined}
      data-outdated={isOutdated || undefined}
      data-node={node_id}
      aria-labelledby={headingId}
      aria-busy={isRunning || undefined}
      tabIndex={-1}
    >
      <header className="chat-answer-head">
        <Who chain={chain} headingId={headingId} />
        <Marks node={node} isBookmarked={isBookmarked} isOutdated={isOutdated} />
        {isRetrying && <Status kind="waiting" label={words.retrying} />}
        {says !== "done" && !isRetrying && <Status kind={statusKinds[says]} label={words[says]} />}
        {isRunning && <Elapsed since={version.created_at} />}
        {isRunning && (
          <Button ref={passesToComposer} small icon="stop" onClick={() => void chat.stop(node_id)}>
            {words.stop}
          </Button>
        )}
      </header>
      <Elsewhere above={above} version={version} />
      {isEditing ? (
        <InPlaceEditor
          nodeId={node_id}
          label={words.editAnswerLabel}
          text={answerToCopy(page, node)}
          sendKey="mod+enter"
          keysHint={words.saveKeys}
          sendLabel={words.save}
          onSend={({ text }) => chat.editAnswer(node_id, text)}
        />
      ) : (
        chain.map((part, at) => (
          <Answer
            key={part.version_id}
            chat={chat}
            node={node}
            version={part}
            isContinued={at < chain.length - 1}
            showNode={thread.show}
            failureActions={
              part.status === "error" && at === chain.length - 1 ? (
                <FailureActions nodeId={node_id} />
              ) : undefined
            }
          />
        ))
      )}
      <div className="chat-foot">
        <span className="chat-actions">
          {copy !== undefined && <IconButton icon="copy" small label={words.copy} onClick={copy} />}
          {!isRunning && (
            <>
              <IconButton
                ref={passesToAnswer}
                icon="redo"
                small
                label={words.retry}
                onClick={() => void chat.rerun(node_id)}
              />
              <IconButton icon="edit" small label={words.editAnswer} onClick={edit} />
              <IconButton icon="up" small label={words.toStart} onClick={toStart} />
            </>
          )}
        </span>
        <Menu label={words.moreOfAnswer} small items={items} />
        {mayContinue && version.status !== "completed" && (
          <Button ref={passesToAnswer} small icon="play" onClick={goOn}>
            {words.continueIt}
          </Button>
        )}
        <Switchers node={node} branches={branches} />
        <AnswerUsage chain={chain} />
        {!isRunning && <When iso={version.created_at} />}
      </div>
    </article>
  );
}

function FailureActions({ nodeId }: { nodeId: string }) {
  const words = useWords(chatWords);
  const { chat, retrying } = useThread();
  return (
    <>
      <Button
        ref={passesToAnswer}
        small
        kind="primary"
        icon="redo"
        onClick={() => void chat.rerun(nodeId)}
      >
        {words.retry}
      </Button>
      <Button small onClick={() => retrying.set(nodeId)}>
        {words.chooseAnother}
      </Button>
    </>
  );
}

const passesToAnswer = passesFocusTo((button) => button.closest<HTMLElement>(".chat-answer"));
/** On a touch screen the composer would bring up its keyboard. */
const passesToComposer = passesFocusTo((button) => {
  const composer = hasKeyboard() ? findComposer() : null;
  return composer ?? button.closest<HTMLElement>(".chat-answer");
});

function Who({ chain, headingId }: { chain: readonly AnswerVersion[]; headingId: string }) {
  const words = useWords(chatWords);
  const { names, models } = whoMade(chain);
  return (
    <>
      <h2 id={headingId} className="chat-who" dir="auto">
        {names.length === 0 ? (
          words.unnamedAnswer
        ) : (
          <>
            <span className="for-readers">{words.answer} </span>
            {names.join(", ")}
          </>
        )}
      </h2>
      {models.length > 0 && <span className="chat-model">{models.join(", ")}</span>}
      {chain.at(-1)?.by === "user" && <span className="chat-model">{words.byHand}</span>}
    </>
  );
}

/** The message has been changed since, or another of its versions is shown. */
function Elsewhere({
  above,
  version,
}: {
  above: NodeProps<AnswerNode>["above"];
  version: AnswerVersion;
}) {
  const words = useWords(chatWords);
  const { chat } = useThread();
  const answered = answeredVersion(above, version);
  if (answered === undefined || above === undefined) return null;
  const show = () =>
    void chat.change({
      type: "choose_version",
      node_id: above.node_id,
      version_id: answered.versionId,
    });
  return (
    <p className="chat-elsewhere">
      {words.answersVersion(answered.number)}
      <Button small kind="ghost" onClick={show}>
        {words.showIt}
      </Button>
    </p>
  );
}
