import type { AnswerNode, AnswerVersion, UserNode, UserVersion } from "@deltawire/tasks/chats";
import { Answer } from "../answer/answer.tsx";
import { costOf, saysOf, statusKinds } from "../chat/answer-facts.ts";
import { usedInRows } from "../chat/answer-usage.tsx";
import { chatWords } from "../chat/words.ts";
import { Status } from "../parts/signs.tsx";
import type { OpenChat } from "../state/page.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { treeWords } from "./words.ts";

interface VersionProps {
  node: UserNode | AnswerNode;
  version: UserVersion | AnswerVersion;
}

/** What was said, whole. */
export function VersionBody({ chat, node, version }: VersionProps & { chat: OpenChat }) {
  const words = useWords(treeWords);
  if (node.kind === "answer" && "output" in version)
    return <Answer chat={chat} node={node} version={version} />;
  if ("output" in version) return null;
  const beside = [
    ...version.contexts.map(({ title }) => title),
    ...version.attachments.map(({ filename, kind }) => filename ?? kind),
  ];
  return (
    <>
      <div className="plain-text" dir="auto">
        {version.text === "" ? words.saysNothing : version.text}
      </div>
      {beside.length > 0 && (
        <p className="quiet" dir="auto">
          {words.attachments}: {beside.join(", ")}
        </p>
      )}
    </>
  );
}

interface FactsProps extends Pick<VersionProps, "version"> {
  /** What it lacks is named too: the other may have it. */
  isCompared?: boolean | undefined;
}

/** Who said it, when, for how much, and how it ended. */
export function VersionFacts({ version, isCompared = false }: FactsProps) {
  const words = useWords(treeWords);
  const chat = useWords(chatWords);
  const format = useFormat();
  const isAnswer = "output" in version;
  const named = (name: string, value: string | undefined) =>
    value === undefined && !isCompared ? [] : [{ name, value: value ?? "–" }];
  const rows = [
    ...(isAnswer ? named(words.agent, version.agent) : []),
    ...(isAnswer ? named(words.model, version.model) : []),
    { name: words.when, value: format.exactly(version.created_at) },
    ...(isAnswer ? usedInRows(costOf([version]), format, chat) : []),
  ];
  return (
    <dl className="tree-facts">
      {isAnswer && (
        <div>
          <dt>{words.status}</dt>
          <dd>
            <Status kind={statusKinds[saysOf(version)]} label={chat[saysOf(version)]} />
          </dd>
        </div>
      )}
      {rows.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
