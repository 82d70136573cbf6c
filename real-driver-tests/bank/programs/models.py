# SPDX-License-Identifier: Apache-2.0
"""Small models of transformers with random weights, so that no program downloads anything."""

import seeded
import torch
import transformers

NEW_TOKENS = 24


def _causal(model: transformers.PreTrainedModel, dtype: torch.dtype = torch.float16, **how) -> list[torch.Tensor]:
    """The text that a model generates, twice: the second time, the allocator has the memory already."""
    model = model.to("cuda", dtype).eval()
    prompt = torch.randint(3, model.config.vocab_size, (4, 16)).cuda()
    outputs = []
    with torch.inference_mode():
        for _ in range(2):
            torch.manual_seed(39)
            outputs.append(model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS,
                                          min_new_tokens=NEW_TOKENS, pad_token_id=0, **how))
    return outputs


def _llama(**how) -> list[torch.Tensor]:
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    return _causal(transformers.LlamaForCausalLM(config), **how)


def llama_greedy():
    return _llama(do_sample=False)


def llama_top_k():
    return _llama(do_sample=True, top_k=20, temperature=0.8)


def llama_top_p():
    return _llama(do_sample=True, top_k=0, top_p=0.9)


def llama_beams():
    return _llama(do_sample=False, num_beams=4)


def mixtral():
    config = transformers.MixtralConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    # (Products of many experts at once take no other type.)
    return _causal(transformers.MixtralForCausalLM(config), torch.bfloat16, do_sample=False)


def t5_beams():
    config = transformers.T5Config(vocab_size=512, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
                                   pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config).cuda().eval()
    inputs = torch.randint(3, 512, (4, 16)).cuda()
    with torch.inference_mode():
        return model.generate(inputs, attention_mask=torch.ones_like(inputs), num_beams=4, max_new_tokens=NEW_TOKENS)


def whisper():
    """Encodes sound, and takes the likeliest token again and again, with a cache of keys and values."""
    config = transformers.WhisperConfig(
        vocab_size=512, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=80, max_source_positions=100, max_target_positions=64,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)
    model = transformers.WhisperForConditionalGeneration(config).to("cuda", torch.float16).eval()
    sound = seeded.on_device(2, 80, 200, dtype=torch.float16)
    token = torch.full((2, 1), config.decoder_start_token_id, device="cuda")
    tokens, past = [token], None
    with torch.inference_mode():
        heard = model.model.encoder(sound)
        for _ in range(NEW_TOKENS):
            out = model(encoder_outputs=heard, decoder_input_ids=token, past_key_values=past, use_cache=True)
            past, token = out.past_key_values, out.logits[:, -1:].argmax(-1)
            tokens.append(token)
    return torch.cat(tokens, dim=1)


def bert():
    """Trains a classifier in half precision, with a scaler of gradients."""
    config = transformers.BertConfig(vocab_size=512, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    model = transformers.BertForSequenceClassification(config).cuda().train()
    optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=1e-3), torch.amp.GradScaler("cuda")
    words, labels = torch.randint(3, 512, (8, 32)).cuda(), torch.randint(0, 2, (8,)).cuda()
    losses = []
    for _ in range(4):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16):
            loss = model(input_ids=words, attention_mask=torch.ones_like(words), labels=labels).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, list(model.parameters())


def vit():
    config = transformers.ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                    image_size=64, patch_size=16, num_labels=10)
    model = transformers.ViTForImageClassification(config).cuda().train()
    images, labels = seeded.on_device(8, 3, 64, 64), torch.arange(8).cuda()
    return seeded.train(model, lambda net, _: net(pixel_values=images, labels=labels).loss)
