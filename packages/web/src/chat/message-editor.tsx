import type { Attachment, UserNode, UserVersion } from "@deltawire/tasks/chats";
import { Button, IconButton } from "../parts/button.tsx";
import { Tag } from "../parts/signs.tsx";
import type { EditHow } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { InPlaceEditor } from "./in-place-editor.tsx";
import { useThread } from "./thread.ts";
import { useEdit } from "./use-edit.ts";
import { chatWords } from "./words.ts";

/** A message in other words: sent as a version or as a branch, or only changed. */
export function MessageEditor({ node, version }: { node: UserNode; version: UserVersion }) {
  const words = useWords(chatWords);
  const { chat } = useThread();
  const { edit, keep } = useEdit(node.node_id);
  const kept = edit?.attachments;
  const attachments = kept ?? version.attachments;
  const save = (text: string, how: EditHow) =>
    chat.editMessage(node.node_id, text, kept === undefined ? how : { ...how, attachments: kept });
  return (
    <InPlaceEditor
      nodeId={node.node_id}
      label={words.editMessageLabel}
      text={version.text}
      mayBeEmpty={attachments.length > 0}
      onSend={(text) => save(text, { as: "version", send: true })}
      sendLabel={words.sendVersion}
      sendHint={words.sendVersionHint}
      beside={
        <Kept
          attachments={attachments}
          onChange={(left) => keep({ text: edit?.text ?? version.text, attachments: left })}
        />
      }
      renderOthers={(run, isBusy) => (
        <>
          <Button
            small
            icon="branch"
            disabled={isBusy}
            onClick={() => run((text) => save(text, { as: "branch", send: true }))}
          >
            {words.sendBranch}
          </Button>
          <Button
            small
            disabled={isBusy}
            title={words.onlyChangeHint}
            onClick={() => run((text) => save(text, { as: "version", send: false }))}
          >
            {words.onlyChange}
          </Button>
        </>
      )}
    />
  );
}

function Kept({
  attachments,
  onChange,
}: {
  attachments: readonly Attachment[];
  onChange: (attachments: readonly Attachment[]) => void;
}) {
  const words = useWords(chatWords);
  if (attachments.length === 0) return null;
  return (
    <div className="chat-kept">
      {attachments.map((attachment) => {
        const name = attachment.filename ?? words[attachment.kind];
        return (
          <Tag key={attachment.url}>
            <span dir="auto">{name}</span>
            <IconButton
              icon="close"
              small
              label={words.leaveOut(name)}
              onClick={() => onChange(attachments.filter((each) => each !== attachment))}
            />
          </Tag>
        );
      })}
    </div>
  );
}
